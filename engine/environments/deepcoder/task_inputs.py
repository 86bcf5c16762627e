"""What a family of tasks consists of, and generators of inputs for them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

WORDS = [
    *(
        "apple",
        "bear",
        "cloud",
        "dune",
        "east",
        "fern",
        "glass",
        "hill",
        "iron",
        "jade",
        "kite",
        "lamp",
        "moon",
        "nest",
    ),
    *("oak", "pine", "quill", "river", "stone", "tree", "umbra", "vine", "wind", "yard", "zebra", "amber", "bridge"),
    *("candle", "dragon", "ember", "falcon", "garden", "harbor", "island"),
]
Inputs = Callable[[np.random.Generator, dict[str, Any]], Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Family:
    """`inputs` gives the arguments of `function`, or the standard input of a program where there is none."""

    name: str
    statement: str
    solution: str
    inputs: Inputs
    function: str = ""
    parameters: tuple[dict[str, Any], ...] = ({},)


def numbers(rng: np.random.Generator, count: int, low: int, high: int) -> list[int]:
    return [int(one) for one in rng.integers(low, high + 1, size=count)]


def line_of_words(rng: np.random.Generator, count: int) -> str:
    return " ".join(WORDS[int(one)] for one in rng.integers(len(WORDS), size=count))


def one_number(low: int, high: int) -> Inputs:
    return lambda rng, _: [int(rng.integers(low, high + 1))]


def one_list(low: int, high: int, shortest: int = 0, longest: int = 12) -> Inputs:
    return lambda rng, _: [numbers(rng, int(rng.integers(shortest, longest + 1)), low, high)]


def text_of(letters: str, longest: int) -> Callable[[np.random.Generator], str]:
    return lambda rng: "".join(letters[int(i)] for i in rng.integers(len(letters), size=int(rng.integers(1, longest))))


def one_text(letters: str, longest: int = 16) -> Inputs:
    make = text_of(letters, longest)
    return lambda rng, _: [make(rng)]


def two_texts(letters: str, longest: int = 10) -> Inputs:
    make = text_of(letters, longest)
    return lambda rng, _: [make(rng), make(rng)]


def matrix(rng: np.random.Generator, _: dict[str, Any]) -> list[list[list[int]]]:
    rows, columns = int(rng.integers(1, 5)), int(rng.integers(1, 5))
    return [[numbers(rng, columns, -9, 9) for _ in range(rows)]]


def list_and_number(low: int, high: int, number_low: int, number_high: int) -> Inputs:
    def make(rng: np.random.Generator, _: dict[str, Any]) -> list[Any]:
        return [numbers(rng, int(rng.integers(1, 11)), low, high), int(rng.integers(number_low, number_high + 1))]

    return make


def lines_of_numbers(rng: np.random.Generator, _: dict[str, Any]) -> str:
    values = numbers(rng, int(rng.integers(1, 10)), -50, 50)
    return f"{len(values)}\n{' '.join(map(str, values))}\n"


def variants(name: str, *values: Any) -> tuple[dict[str, Any], ...]:
    return tuple({name: value} for value in values)
