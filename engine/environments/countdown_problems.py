"""Problems of Countdown: drawn from a seed and solvable by construction, or read from a Parquet file."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from engine.environments.bounded_cache import cached_in_bytes
from engine.environments.countdown_values import Reachable
from engine.environments.loading import loaded_once
from engine.environments.questions.files import version
from engine.errors import ConfigError

Version = tuple[str, int, int]  # of a file: changes with its content
DRAWS = 300
MOST_ROWS = 600_000  # the published file has 490,000
MOST_NUMBERS = 5  # more take seconds to solve


@dataclass(frozen=True, slots=True)
class Problem:
    """Numbers as shown, the target, an expression for it, and how many there are up to the order of two operands."""

    numbers: tuple[int, ...]
    target: int
    expression: str
    ways: int


@dataclass(frozen=True, slots=True)
class Ranges:
    """What is drawn; both ends of each range are included."""

    counts: tuple[int, int]
    numbers: tuple[int, int]
    targets: tuple[int, int]
    operations: str


@cached_in_bytes(8_000_000)
def draw_problem(seed: int, ranges: Ranges) -> Problem:
    """Draws numbers, then one of the whole values in range that they make."""
    rng = np.random.default_rng([seed, *ranges.counts, *ranges.numbers, 5])
    smallest, largest = ranges.targets
    for _ in range(DRAWS):
        count = int(rng.integers(ranges.counts[0], ranges.counts[1] + 1))
        numbers = tuple(int(one) for one in rng.integers(ranges.numbers[0], ranges.numbers[1] + 1, size=count))
        reachable = Reachable(numbers, ranges.operations)
        targets = [value for value in reachable.whole_values() if smallest <= value <= largest]
        if targets:
            target = targets[int(rng.integers(len(targets)))]
            return Problem(numbers, target, reachable.expression(target) or "", reachable.count(target))
    raise ConfigError(
        f"No numbers from {ranges.numbers[0]} to {ranges.numbers[1]} made a target from {smallest} to {largest}.",
        remedy="Widen the range of targets, or allow more operations.",
    )


@dataclass(frozen=True, slots=True)
class Rows:
    """The problems of a file. `numbers` has a row for each, filled up with -1."""

    targets: np.ndarray[Any, np.dtype[np.int32]]
    numbers: np.ndarray[Any, np.dtype[np.int32]]

    def __len__(self) -> int:
        return len(self.targets)


def problem_of_row(path: str, seed: int, operations: str, not_in: str = "") -> Problem:
    """A problem of the file: the first at or after a random row that `operations` solve and the file `not_in` lacks."""
    return _problem_of_row(version(path), seed, operations, version(not_in) if not_in else None)


@cached_in_bytes(8_000_000)
def _problem_of_row(path: Version, seed: int, operations: str, not_in: Version | None) -> Problem:
    rows = read_rows(path)
    excluded = _canonical_problems(not_in) if not_in else frozenset()
    start = int(np.random.default_rng([seed, 6]).integers(len(rows)))
    for offset in range(min(DRAWS, len(rows))):
        row = (start + offset) % len(rows)
        numbers = tuple(int(one) for one in rows.numbers[row] if one >= 0)
        target = int(rows.targets[row])
        reachable = Reachable(numbers, operations)
        expression = reachable.expression(target)
        if expression is not None and (target, tuple(sorted(numbers))) not in excluded:
            return Problem(numbers, target, expression, reachable.count(target))
    raise ConfigError(
        f"{path[0]}: none of {DRAWS} rows from row {start} can be used: {operations} do not solve them, or they are "
        "kept for evaluation.",
        remedy="Allow more operations, or give another file.",
    )


@loaded_once(4)  # 12 MB for the published file
def read_rows(source: Version) -> Rows:
    """Reads the columns `target` and `nums` of a Parquet file, of which nothing else is read."""
    from pyarrow import parquet

    path = source[0]
    try:
        table = parquet.read_table(Path(path).expanduser(), columns=["target", "nums"]).slice(0, MOST_ROWS)
        targets, lists = table["target"].to_pylist(), table["nums"].to_pylist()
        width = max(map(len, lists), default=0)
        if any(one < 0 for row in lists for one in row):
            raise ValueError("nums has a number below 0")
        numbers = np.array([[*one, *[-1] * (width - len(one))] for one in lists], dtype=np.int32)
        rows = Rows(np.array(targets, dtype=np.int32), numbers)
    except (OSError, ValueError, KeyError, TypeError, OverflowError) as error:  # what pyarrow raises is one of them
        raise ConfigError(
            f"{path} cannot be read: {error}",
            remedy="Give a Parquet file with columns target (whole numbers) and nums (lists of whole numbers), such as "
            "Jiayi-Pan/Countdown-Tasks-3to4.",
        ) from error
    if not 1 <= width <= MOST_NUMBERS:
        raise ConfigError(
            f"{path} has {width} numbers in a row.", remedy=f"Give rows with 1 to {MOST_NUMBERS} numbers each."
        )
    return rows


@loaded_once(2)  # 100 bytes per row of a file for evaluation, which has a few thousand
def _canonical_problems(source: Version) -> frozenset[tuple[int, tuple[int, ...]]]:
    rows = read_rows(source)
    return frozenset(
        (int(target), tuple(sorted(int(one) for one in numbers if one >= 0)))
        for target, numbers in zip(rows.targets, rows.numbers, strict=True)
    )
