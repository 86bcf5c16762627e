"""The lines of one page of the list of runs: runs in an order; with forks indented below what they were forked from;
or folded, with one line for each configuration. Only IDs are read of the runs that other pages show."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.db.models import F, QuerySet

from webapp.run_pages.columns import Column, column_of
from webapp.runs.models import Run

PAGE = 50
MOST_UNFOLDED = 100  # runs of one configuration
ARRANGEMENTS = {"list": "List", "lineage": "Forks below their run", "configuration": "Seeds folded"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Sort:
    """`key` is empty for the newest first."""

    key: str = ""
    descending: bool = True
    column: Column | None = None

    def apply(self, runs: QuerySet[Run]) -> QuerySet[Run]:
        """Runs without a value come last either way; equal ones in the order in which they were launched."""
        if self.column is None:
            return runs.order_by("-created_at", "pk")
        value = F("sort_value")
        order = value.desc(nulls_last=True) if self.descending else value.asc(nulls_last=True)
        return runs.annotate(sort_value=self.column.order).order_by(order, "-created_at", "pk")


@dataclass(slots=True, kw_only=True)
class Line:
    """A run, `depth` levels below the first of its lineage on the page; or a configuration with its `members`."""

    run_id: str = ""
    depth: int = 0
    config_key: str = ""
    members: list[str] = field(default_factory=list)
    is_open: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    lines: list[Line]
    number: int  # from 1
    first: int  # line of the page, from 1
    total: int  # lines of all pages
    runs: int

    @property
    def last(self) -> int:
        return min(self.first + PAGE - 1, self.total)


def read_sort(text: str) -> Sort:
    """`name` ascending, `-name` descending. Anything else is the default."""
    key = text.removeprefix("-")
    column = column_of(key)
    return Sort(key=key, descending=text.startswith("-"), column=column) if column else Sort()


def arrangement_of(text: str, sort: Sort) -> str:
    """Forks are below their run unless the list is sorted by something."""
    return text if text in ARRANGEMENTS else "list" if sort.column else "lineage"


def page_of(runs: QuerySet[Run], sort: Sort, arrangement: str, *, number: int, unfolded: Iterable[str] = ()) -> Page:
    """The lines of page `number`, or of the last one if there are fewer."""
    if arrangement == "configuration":
        return _folded(runs, sort, number, set(unfolded))
    if arrangement == "lineage" and runs.filter(forked_from__isnull=False).exists():
        return _cut(_families(sort.apply(runs).values_list("pk", "forked_from")), number)
    total = runs.count()
    start = _start(number, total)
    ids = sort.apply(runs).values_list("pk", flat=True)[start : start + PAGE]
    return _page([Line(run_id=pk) for pk in ids], start, total, total)


def _families(pairs: Iterable[tuple[str, str | None]]) -> list[Line]:
    """A family stands where the first of its members would: first the run that the others descend from."""
    parents = dict(pairs)
    children: dict[str, list[str]] = {}
    for run_id, parent in parents.items():
        if parent in parents and parent is not None:
            children.setdefault(parent, []).append(run_id)
    lines: list[Line] = []
    placed: set[str] = set()
    for run_id in parents:
        waiting = [] if run_id in placed else [(_first_of(run_id, parents), 0)]
        while waiting:
            one, depth = waiting.pop()
            placed.add(one)
            lines.append(Line(run_id=one, depth=depth))
            waiting += [(child, depth + 1) for child in reversed(children.get(one, []))]
    return lines


def _first_of(run_id: str, parents: dict[str, str | None]) -> str:
    """The oldest ancestor among the runs of the list."""
    while (parent := parents[run_id]) in parents and parent is not None:
        run_id = parent
    return run_id


def _folded(runs: QuerySet[Run], sort: Sort, number: int, unfolded: set[str]) -> Page:
    value = F("sort_value") if sort.column else F("created_at")
    groups: dict[str, list[str]] = {}
    values: dict[str, list[Any]] = {}
    for run_id, key, one in sort.apply(runs).values_list("pk", "listed__config_key", value):
        group = key or run_id  # a run without a `ListedRun` is alone
        groups.setdefault(group, []).append(run_id)
        values.setdefault(group, []).append(one)
    keys = list(groups)  # in the order of the first of each
    if sort.column is not None and sort.column.numeric:
        keys.sort(key=lambda key: _rank(values[key], sort.descending))
    start = _start(number, len(keys))
    lines: list[Line] = []
    for key in keys[start : start + PAGE]:
        members, is_open = groups[key], key in unfolded
        if len(members) == 1:
            lines.append(Line(run_id=members[0]))
            continue
        lines.append(Line(config_key=key, members=members, is_open=is_open))
        lines += [Line(run_id=pk, depth=1) for pk in members[:MOST_UNFOLDED] if is_open]
    return _page(lines, start, len(keys), sum(map(len, groups.values())))


def _rank(values: Sequence[float | None], descending: bool) -> float:
    """By the mean of those that have a value; configurations without any come last."""
    known = [value for value in values if value is not None]
    mean = sum(known) / len(known) if known else math.inf
    return -mean if known and descending else mean


def _cut(lines: list[Line], number: int) -> Page:
    start = _start(number, len(lines))
    return _page(lines[start : start + PAGE], start, len(lines), len(lines))


def _start(number: int, total: int) -> int:
    last = max(0, (total - 1) // PAGE)
    return min(max(number - 1, 0), last) * PAGE


def _page(lines: list[Line], start: int, total: int, runs: int) -> Page:
    return Page(lines=lines, number=start // PAGE + 1, first=start + 1, total=total, runs=runs)
