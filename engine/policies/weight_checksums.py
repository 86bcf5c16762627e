"""A checksum of a model's weights that is independent of how they are fused, split, ordered or laid out.

It covers every bit of every number, so that any update changes it, and it is exact: there is no rounding. It does not
cover which number is where; the comparison of log-probabilities does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

import torch
from torch import Tensor

# numbers at a time: the sum of their 16-bit squares stays below 2^63
ON_A_GPU = 1 << 24
ON_A_CPU = 1 << 17  # so few stay in its caches, which takes a tenth of the time
BITS = {2: torch.int16, 4: torch.int32}
TYPES = (torch.float32, torch.bfloat16)
BYTES = {str(kind).removeprefix("torch."): kind.itemsize for kind in TYPES}

Watch = Callable[[str, Tensor], None]


class WeightChecksum(NamedTuple):
    """Of `numbers` numbers: the sum of their bits as integers, and the sum of squares of their bits folded into 16."""

    numbers: int = 0
    bits: int = 0
    squares: int = 0

    def with_more(self, other: WeightChecksum) -> WeightChecksum:
        return WeightChecksum(self.numbers + other.numbers, self.bits + other.bits, self.squares + other.squares)


def checksum_of(weight: Tensor) -> WeightChecksum:
    """Of a `weight` with 2 or 4 bytes per number."""
    numbers = weight.detach().reshape(-1).view(BITS[weight.element_size()])
    bits = squares = 0
    for part in numbers.split(ON_A_CPU if weight.device.type == "cpu" else ON_A_GPU):
        wide = part.to(torch.int64)
        folded = (wide ^ (wide >> 16)) & 0xFFFF
        bits += int(wide.sum())
        squares += int((folded * folded).sum())
    return WeightChecksum(numbers.numel(), bits, squares)


class SentChecksums:
    """Of the weights that are sent, for each type in which a sampler may hold them. A weight counts once per name."""

    def __init__(self) -> None:
        self.by_name: dict[str, dict[str, WeightChecksum]] = {}

    def add(self, name: str, weight: Tensor) -> None:
        kinds = [kind for kind in TYPES if kind.itemsize <= weight.element_size()]
        self.by_name[name] = {name_of(kind): checksum_of(weight.to(kind)) for kind in kinds}

    def total(self) -> dict[str, WeightChecksum]:
        kinds = {kind for sums in self.by_name.values() for kind in sums}
        return {kind: total(sums[kind] for sums in self.by_name.values() if kind in sums) for kind in kinds}


def bytes_of(sent: dict[str, WeightChecksum]) -> int:
    """Of the weights in the type that they were sent in, which is the widest."""
    return max((one.numbers * BYTES[kind] for kind, one in sent.items()), default=0)


def model_checksums(weights: Iterable[Tensor]) -> dict[str, WeightChecksum]:
    """Of all weights of a model, by their type."""
    found: dict[str, WeightChecksum] = {}
    for weight in weights:
        if weight.element_size() in BITS:
            kind = name_of(weight.dtype)
            found[kind] = found.get(kind, WeightChecksum()).with_more(checksum_of(weight))
    return found


def total(sums: Iterable[WeightChecksum]) -> WeightChecksum:
    found = WeightChecksum()
    for one in sums:
        found = found.with_more(one)
    return found


def name_of(kind: torch.dtype) -> str:
    return str(kind).removeprefix("torch.")


def agree(sent: dict[str, WeightChecksum], held: dict[str, WeightChecksum]) -> bool | None:
    """None if they cannot be compared: some are held in another type, or in another form, such as packed."""
    if len(held) != 1:
        return None
    ((kind, ours),) = held.items()
    theirs = sent.get(kind)
    return None if theirs is None or theirs.numbers != ours.numbers else theirs == ours
