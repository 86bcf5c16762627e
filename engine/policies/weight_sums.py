"""A checksum of a model's weights that does not mind how they are fused, cut, ordered or laid out.

It counts every bit of every number, so that two models that differ by one small update differ in it, and it is exact:
there is no rounding to allow for. Which number is where it leaves to the probe of log-probabilities.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

import torch
from torch import Tensor

CHUNK = 1 << 24  # numbers at a time: sums of so many squares of 16 bits stay below 2^63
BITS = {2: torch.int16, 4: torch.int32}
TYPES = (torch.float32, torch.bfloat16)

Watch = Callable[[str, Tensor], None]


class WeightSum(NamedTuple):
    """Of so many `numbers`: the sum of their bits as integers, and of squares of these bits folded into 16."""

    numbers: int = 0
    bits: int = 0
    squares: int = 0

    def with_more(self, other: WeightSum) -> WeightSum:
        return WeightSum(self.numbers + other.numbers, self.bits + other.bits, self.squares + other.squares)


def sum_of(weight: Tensor) -> WeightSum:
    """`weight` has 2 or 4 bytes a number."""
    numbers = weight.detach().reshape(-1).view(BITS[weight.element_size()])
    bits = squares = 0
    for part in numbers.split(CHUNK):
        wide = part.to(torch.int64)
        folded = (wide ^ (wide >> 16)) & 0xFFFF
        bits += int(wide.sum())
        squares += int((folded * folded).sum())
    return WeightSum(numbers.numel(), bits, squares)


class WeightSums:
    """Of what is sent, for each type in which it may be held. A weight that comes twice counts once, by its name."""

    def __init__(self) -> None:
        self.by_name: dict[str, dict[str, WeightSum]] = {}

    def add(self, name: str, weight: Tensor) -> None:
        kinds = [kind for kind in TYPES if kind.itemsize <= weight.element_size()]
        self.by_name[name] = {name_of(kind): sum_of(weight.to(kind)) for kind in kinds}

    def total(self) -> dict[str, WeightSum]:
        kinds = {kind for sums in self.by_name.values() for kind in sums}
        return {kind: total(sums[kind] for sums in self.by_name.values() if kind in sums) for kind in kinds}


def held_sums(weights: Iterable[Tensor]) -> dict[str, WeightSum]:
    """Of all weights of a model, by the type that they have."""
    found: dict[str, WeightSum] = {}
    for weight in weights:
        if weight.element_size() in BITS:
            kind = name_of(weight.dtype)
            found[kind] = found.get(kind, WeightSum()).with_more(sum_of(weight))
    return found


def total(sums: Iterable[WeightSum]) -> WeightSum:
    found = WeightSum()
    for one in sums:
        found = found.with_more(one)
    return found


def name_of(kind: torch.dtype) -> str:
    return str(kind).removeprefix("torch.")


def agree(sent: dict[str, WeightSum], held: dict[str, WeightSum]) -> bool | None:
    """None where they cannot be compared: some are held in another type, or not as they came, such as packed."""
    if len(held) != 1:
        return None
    ((kind, ours),) = held.items()
    theirs = sent.get(kind)
    return None if theirs is None or theirs.numbers != ours.numbers else theirs == ours
