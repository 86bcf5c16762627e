"""Runs in groups: those that share the value of a field are one line, the mean over them with a band."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from webapp.comparisons.fields import SEEDS, Field, swept_names
from webapp.runs.models import COLOURS, Run


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """`members` are indices of runs."""

    name: str
    members: list[int]
    colour: int
    dash: int


def groups_of(runs: Sequence[Run], field: Field | None) -> list[Group]:
    """In the order in which the first of each comes; by size if the values, or those of the only axis of a sweep, are
    numbers."""
    if field is None:
        return []
    members: dict[str, list[int]] = {}
    for index, value in enumerate(field.values):
        members.setdefault(value, []).append(index)
    values = list(members)
    swept = swept_names(runs) if field.key == SEEDS else []
    if (numbers := field.numbers) is not None:
        values.sort(key=lambda value: numbers[members[value][0]])
    if swept and all(_number(name) is not None for name in swept):
        values.sort(key=lambda value: _number(swept[members[value][0]]) or 0.0)
    return [
        Group(
            name=(swept and swept[members[value][0]]) or _name(value, field, runs, members[value]),
            members=_different_seeds(runs, members[value]) if field.key == SEEDS else members[value],
            colour=index % COLOURS + 1,
            dash=index // COLOURS,
        )
        for index, value in enumerate(values)
    ]


def _number(name: str) -> float | None:
    """Of `learning_rate 0.001`."""
    try:
        return float(name.rpartition(" ")[2]) if "," not in name else None
    except ValueError:
        return None


def seed_of(run: Run) -> int | None:
    return None if run.imported_from else run.config.get("seed")


def _name(value: str, field: Field, runs: Sequence[Run], members: Sequence[int]) -> str:
    if field.key != SEEDS:
        return f"{field.label.rpartition('.')[2]} {value}"
    more = len(_different_seeds(runs, members)) - 1
    first = runs[members[0]].name
    return f"{first} and {more} more {'seed' if more == 1 else 'seeds'}" if more else first


def _different_seeds(runs: Sequence[Run], members: Sequence[int]) -> list[int]:
    """Each seed counts once: another run with the same seed is a repetition."""
    first: dict[int | None, int] = {}
    for index in members:
        first.setdefault(seed_of(runs[index]), index)
    return list(first.values())
