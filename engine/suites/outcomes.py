"""What became of each episode of an evaluation: a row per problem and sample, in columns (Parquet).

A million rows take about 10 MB. `outcomes.parquet` has those of ended sessions, and `parts` those since then;
`read_outcomes` reads both.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields
from functools import lru_cache
from pathlib import Path
from typing import Any

from engine.suites.suite import Suite

OUTCOMES, PARTS = "outcomes.parquet", "parts"


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """One episode. None means unknown: `success` and `episode_return` of one without a score, which is left out of
    every rate, and token counts that an endpoint does not report."""

    item: str  # name of the suite's item
    problem: str  # identity, 16 hexadecimal digits
    seed: int  # that starts the problem
    sample: int  # from 0
    success: bool | None
    episode_return: float | None
    turns: int
    actions: int
    tokens: int | None  # that were sampled
    prompt_tokens: int | None
    malformed: int  # responses of `turns`
    stop: str
    seconds: float
    error: str  # why it has no score
    trained_on: bool | None  # whether the model's run trained on the problem; None if that is not known
    file: str  # of its trajectory, relative to the evaluation's directory; empty if it was not recorded
    offset: int
    length: int

    @property
    def scored(self) -> bool:
        return self.success is not None


def write_outcomes(path: Path, outcomes: Iterable[Outcome]) -> None:
    """All or none: the file gets its name when it is complete."""
    import pyarrow
    from pyarrow import parquet

    names = [field.name for field in fields(Outcome)]
    rows = list(outcomes)
    columns = {name: [getattr(row, name) for row in rows] for name in names}
    table = pyarrow.table(columns, schema=_schema())
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.part")
    parquet.write_table(table, part, compression="zstd")
    part.replace(path)


def read_outcomes(directory: Path) -> list[Outcome]:
    """All of the evaluation in `directory`, or those so far; an episode that was played again counts as it came out
    last. In the order in which they were played."""
    by_episode: dict[tuple[str, str, int], Outcome] = {}
    for table in _tables(directory, None):
        for row in table.to_pylist():
            outcome = Outcome(**row)
            by_episode[outcome.item, outcome.problem, outcome.sample] = outcome
    return list(by_episode.values())


def read_columns(directory: Path, columns: list[str]) -> Any:
    """A pyarrow table with only these columns, of all parts; quick for many rows."""
    import pyarrow

    tables = _tables(directory, columns)
    return pyarrow.concat_tables(tables) if tables else _schema().empty_table().select(columns)


def find_outcome(directory: Path, *, item: str, problem: str, sample: int) -> Outcome | None:
    """How the episode came out last; None if it has not been played."""
    where = [("item", "=", item), ("problem", "=", problem), ("sample", "=", sample)]
    found = [row for table in _tables(directory, None, where) for row in table.to_pylist()]
    return Outcome(**found[-1]) if found else None


def in_suite_order(outcomes: Iterable[Outcome], suite: Suite) -> dict[str, list[list[Outcome | None]]]:
    """By item, a row per problem of the suite and a column per sample; None where the episode was not played."""
    matrix: dict[str, list[list[Outcome | None]]] = {
        item.name: [[None] * item.samples for _ in item.problems] for item in suite.items
    }
    positions = {item.name: {problem: row for row, problem in enumerate(item.problems)} for item in suite.items}
    for outcome in outcomes:
        row = positions.get(outcome.item, {}).get(outcome.problem)
        if row is not None and 0 <= outcome.sample < len(matrix[outcome.item][row]):
            matrix[outcome.item][row][outcome.sample] = outcome
    return matrix


def _tables(directory: Path, columns: list[str] | None, where: list[tuple[str, str, Any]] | None = None) -> list[Any]:
    from pyarrow import parquet

    whole = directory / OUTCOMES
    files = [*([whole] if whole.is_file() else []), *sorted((directory / PARTS).glob("*.parquet"))]
    return [parquet.read_table(file, columns=columns, filters=where) for file in files]


@lru_cache(maxsize=1)
def _schema() -> Any:
    import pyarrow

    words = pyarrow.string()  # of few values, which Parquet stores once
    kinds = {
        "item": words,
        "problem": pyarrow.string(),
        "seed": pyarrow.int64(),
        "sample": pyarrow.int32(),
        "success": pyarrow.bool_(),
        "episode_return": pyarrow.float64(),
        "turns": pyarrow.int32(),
        "actions": pyarrow.int32(),
        "tokens": pyarrow.int64(),
        "prompt_tokens": pyarrow.int64(),
        "malformed": pyarrow.int32(),
        "stop": words,
        "seconds": pyarrow.float64(),
        "error": words,
        "trained_on": pyarrow.bool_(),
        "file": words,
        "offset": pyarrow.int64(),
        "length": pyarrow.int64(),
    }
    return pyarrow.schema(list(kinds.items()))
