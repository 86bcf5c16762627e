"""Gymnasium spaces of text environments."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, cast

import gymnasium

SAMPLE_CHARACTERS = "abcdefghijklmnopqrstuvwxyz 0123456789+-*/()[]"
LONGEST_SAMPLE = 40


class AnyText(gymnasium.Space[str]):
    """Text of any characters; `max_length` characters at most.

    Gymnasium's own `Text` needs a list of its characters, which observations written by others do not have.
    """

    def __init__(self, *, min_length: int = 0, max_length: int = 1_000_000) -> None:
        super().__init__(shape=None, dtype=str)
        self.min_length = min_length
        self.max_length = max_length

    @property
    def is_np_flattenable(self) -> bool:
        return False

    def sample(self, mask: Any | None = None, probability: Any | None = None) -> str:
        length = int(self.np_random.integers(max(1, self.min_length), LONGEST_SAMPLE + 1))
        return "".join(SAMPLE_CHARACTERS[i] for i in self.np_random.integers(len(SAMPLE_CHARACTERS), size=length))

    def contains(self, x: Any) -> bool:
        return isinstance(x, str) and self.min_length <= len(x) <= self.max_length

    def to_jsonable(self, sample_n: Iterable[str]) -> list[str]:
        return list(sample_n)

    def from_jsonable(self, sample_n: list[Any]) -> list[str]:
        return [str(one) for one in sample_n]

    def __eq__(self, other: object) -> bool:
        mine = (self.min_length, self.max_length)
        return isinstance(other, AnyText) and mine == (other.min_length, other.max_length)

    def __repr__(self) -> str:
        return f"AnyText({self.min_length}, {self.max_length})"


class Ids(gymnasium.spaces.Discrete):
    """The ids of named actions. It says whether an id is one of them without numpy's types, which every step asks."""

    def __init__(self, count: int) -> None:
        super().__init__(count)
        self.count = count

    def contains(self, x: Any) -> bool:
        return 0 <= x < self.count if type(x) is int else super().contains(x)


def discrete(count: int) -> gymnasium.Space[int]:
    """The ids 0 to `count - 1`; gymnasium types its own space with numpy's integers."""
    return cast("gymnasium.Space[int]", Ids(count))
