"""Keyset pages: every row once, in order, whatever is added meanwhile."""

from __future__ import annotations

import pytest

from webapp.runs.models import Run
from webapp.trajectories.models import Trajectory
from webapp.trajectories.paging import COLUMNS, NEWEST, Sort, page_of, read_sort


def walk(run: Run, sort: Sort, *, size: int = 5) -> list[int]:
    """The ids on all pages, in order."""
    found: list[int] = []
    after = ""
    while True:
        page = page_of(Trajectory.objects.filter(run=run), sort, after=after, size=size)
        found += [row.pk for row in page.rows]
        after = page.after
        if not after:
            return found


@pytest.mark.parametrize("descending", [True, False])
@pytest.mark.parametrize("name", COLUMNS)
def test_every_row_is_on_one_page_in_order(run: Run, rows: list[Trajectory], name: str, descending: bool) -> None:
    changed = Trajectory.objects.filter(pk__in=[row.pk for row in rows[::3]])
    changed.update(advantage=None, group_std=None, kept=None, environment="Ünder ice", stop="max_turns")
    sort = Sort(column=COLUMNS[name], descending=descending)
    keys = {row.pk: getattr(row, sort.column.field) for row in Trajectory.objects.all()}
    found = walk(run, sort)
    assert sorted(found) == sorted(keys)
    values = [-2 if keys[pk] is None else keys[pk] for pk in found]
    assert values == sorted(values, reverse=descending)


@pytest.mark.parametrize("text", ["", "-", "--return", "x", "-x", "return;"])
def test_an_invalid_sort_falls_back_to_the_newest(text: str) -> None:
    assert read_sort(text) == NEWEST


def test_a_second_click_on_a_header_reverses_the_order() -> None:
    first = NEWEST.of(COLUMNS["return"])
    assert (first.name, first.of(COLUMNS["return"]).name, first.of(COLUMNS["stop"]).name) == (
        "-return",
        "return",
        "stop",
    )


def test_going_back_shows_the_previous_page(run: Run, rows: list[Trajectory]) -> None:
    all_rows, sort = Trajectory.objects.filter(run=run), read_sort("-return")
    first = page_of(all_rows, sort, size=5)
    second = page_of(all_rows, sort, after=first.after, size=5)
    back = page_of(all_rows, sort, before=second.before, size=5)
    assert list(back.rows) == list(first.rows)
    assert (first.before, back.before, back.after) == ("", "", first.after)


def test_seeds_beyond_float_precision_are_paged_in_order(run: Run, rows: list[Trajectory]) -> None:
    for number, row in enumerate(rows):
        Trajectory.objects.filter(pk=row.pk).update(seed=2**62 + number)  # as floats all of them are 2**62
    for name, expected in (("seed", rows), ("-seed", rows[::-1])):
        first = page_of(Trajectory.objects.all(), read_sort(name), size=5)
        second = page_of(Trajectory.objects.all(), read_sort(name), after=first.after, size=5)
        assert [*first.rows, *second.rows] == expected[:10]


def test_new_rows_do_not_shift_a_page(run: Run, rows: list[Trajectory]) -> None:
    all_rows, sort = Trajectory.objects.filter(run=run), NEWEST
    first = page_of(all_rows, sort, size=5)
    expected = [row.pk for row in page_of(all_rows, sort, after=first.after, size=5).rows]
    newer = rows[0]
    newer.pk, newer.step = None, 3
    newer.save()
    assert [row.pk for row in page_of(all_rows, sort, after=first.after, size=5).rows] == expected


@pytest.mark.parametrize(
    "cursor",
    [
        "x",
        "////",
        "bnVsbA",
        "W10",
        "WyJhIiwgMV0",
        "é",
        "WyJcdWQ4MDAiLDFd",
        "WyJcdTAwMDAiLDFd",
        "WzEsIDFlOTk5XQ",
        "W05hTiwgMV0",
        "WzEwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAsIDFd",
    ],
)
def test_an_invalid_cursor_gives_the_first_page(run: Run, rows: list[Trajectory], cursor: str) -> None:
    all_rows = Trajectory.objects.filter(run=run)
    assert list(page_of(all_rows, NEWEST, after=cursor).rows) == list(page_of(all_rows, NEWEST).rows)
    page_of(all_rows, read_sort("seed"), after=cursor)
    page_of(all_rows, read_sort("stop"), after=cursor)  # text is compared with text, or the cursor is ignored
