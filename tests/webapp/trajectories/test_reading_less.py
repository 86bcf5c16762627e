"""What a list of many trajectories reads: the rows that it shows, and not those that it does not."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from tests.builders.trajectories import record_steps
from tests.webapp.trajectories.test_over_runs import on_sqlite, plan_of
from webapp.runs.models import Run
from webapp.trajectories import paging, services
from webapp.trajectories.filters import Filters, read_filters
from webapp.trajectories.models import NUMBERS_OF_RUN, Trajectory
from webapp.trajectories.paging import COLUMNS, NEWEST_OF_ALL, first_of, page_of, read_sort
from webapp.trajectories.row_cells import row_cells

NUMBERS = [name for name, column in COLUMNS.items() if column.field in NUMBERS_OF_RUN]


def listed(run: Run, sort: str, **query: str) -> tuple[list[Trajectory], str]:
    """The first rows of the list, and the plan of their query."""
    with CaptureQueriesContext(connection) as queried:
        found = first_of(
            Trajectory.all_attempts.filter(run=run), read_sort(sort), None, count=7, filters=filters_of(run, **query)
        )
    return found, plan_of(queried.captured_queries[-1]["sql"])


def filters_of(run: Run, **query: str) -> Filters:
    return read_filters(query, run_id=run.pk)


@on_sqlite
@pytest.mark.parametrize("name", NUMBERS)
def test_a_whole_run_is_sorted_by_an_index(run: Run, rows: list[Trajectory], name: str) -> None:
    for sort in (name, f"-{name}"):
        found, plan = listed(run, sort)
        assert f"USING INDEX {NUMBERS_OF_RUN[COLUMNS[name].field]}" in plan
        assert "TEMP B-TREE FOR ORDER BY" not in plan  # only rows with equal numbers are sorted, by their ids
        assert len(found) == 7


@on_sqlite
@pytest.mark.parametrize("name", NUMBERS)
def test_a_step_is_found_before_it_is_sorted(run: Run, rows: list[Trajectory], name: str) -> None:
    _, plan = listed(run, f"-{name}", step="2")
    assert "(run_id=? AND step=?)" in plan


@pytest.mark.parametrize("minus", ["", "-"])
@pytest.mark.parametrize("name", NUMBERS)
def test_pages_of_a_whole_run_have_each_row_once_in_order(
    run: Run, rows: list[Trajectory], name: str, minus: str
) -> None:
    run.trajectories.filter(group=0).update(advantage=None, group_std=None)
    sort, shown, after = read_sort(f"{minus}{name}"), list[tuple[float, int]](), ""
    while after or not shown:
        page = page_of(Trajectory.all_attempts.filter(run=run), sort, filters=filters_of(run), after=after, size=7)
        values = [getattr(row, sort.column.field) for row in page.rows]
        shown += [(-9 if value is None else value, row.pk) for value, row in zip(values, page.rows, strict=True)]
        after = page.after
    assert len(shown) == 32
    down = -1 if minus else 1
    assert shown == sorted(shown, key=lambda one: (down * one[0], one[1]))  # ids ascend either way
    back = page_of(Trajectory.all_attempts.filter(run=run), sort, filters=filters_of(run), before=page.before, size=7)
    assert [row.pk for row in back.rows] == [pk for _, pk in shown[21:28]]  # the last page begins at row 28


@pytest.mark.parametrize(
    "query", [{"q": "hole"}, {"q": "hole", "success": "yes"}, {"q": "hole", "step": "1"}, {"q": "hole", "step": "9"}]
)
@pytest.mark.parametrize("at_once", [1, 4])
@pytest.mark.parametrize("descending", [True, False])
def test_words_are_read_in_the_order_of_ids_as_far_as_they_are_needed(
    run: Run,
    rows: list[Trajectory],
    monkeypatch: pytest.MonkeyPatch,
    query: dict[str, str],
    at_once: int,
    descending: bool,
) -> None:
    """Whether the first ids suffice, the second ones do, or all matches have to be collected."""
    monkeypatch.setattr(paging, "READ_FIRST", at_once)
    filters, sort = filters_of(run, **query), read_sort("-recorded" if descending else "recorded", NEWEST_OF_ALL)
    expected = filters.apply(Trajectory.all_attempts.filter(run=run)).order_by("-pk" if descending else "pk")
    shown, after = list[int](), ""
    while True:
        page = page_of(Trajectory.all_attempts.filter(run=run), sort, filters=filters, after=after, size=2)
        shown += [row.pk for row in page.rows]
        if not (after := page.after):
            break
    assert shown == list(expected.values_list("pk", flat=True))


def test_a_search_in_the_order_of_ids_collects_no_ids_that_it_does_not_show(run: Run, rows: list[Trajectory]) -> None:
    with CaptureQueriesContext(connection) as queried:
        page_of(Trajectory.all_attempts.filter(run=run), NEWEST_OF_ALL, filters=filters_of(run, q="hole"), size=2)
    assert [("LIMIT 6" in query["sql"], "LIMIT 3" in query["sql"]) for query in queried.captured_queries] == [
        (True, False),
        (False, True),
    ]  # 2 ids for each of 3 rows, then the rows


def grouped(run: Run) -> tuple[dict[str, Any], bool]:
    """The splits' counts, and whether rows were grouped to get them."""
    with CaptureQueriesContext(connection) as queried:
        found = services.facets(run).splits
    return found, any("GROUP BY" in query["sql"] and "stop" in query["sql"] for query in queried.captured_queries)


def test_counts_of_the_form_are_kept_until_rows_change(run: Run, rows: list[Trajectory]) -> None:
    assert grouped(run) == ({"train": 32}, True)
    assert grouped(run) == ({"train": 32}, False)
    record_steps(run, run.parsed_config().environments[0], steps=range(3, 4))
    assert grouped(run) == ({"train": 48}, True)
    run.trajectories.filter(step=1, group=0).update(superseded=True)  # 4 members
    assert grouped(run) == ({"train": 44}, True)
    run.trajectories.filter(step=2).delete()
    assert grouped(run) == ({"train": 28}, True)  # 48 - 4 - 16


def test_cells_are_text_and_empty_without_a_number(rows: list[Trajectory]) -> None:
    row = rows[0]
    row.episode_return, row.advantage, row.group_std, row.kept = 0.5, -0.126, None, None
    row.surplus, row.parse_failures, row.faults, row.split = 0, 2, " no_think cut_off ", "validation"
    cells = row_cells(row)
    assert (cells["episode_return"], cells["advantage"], cells["group_std"], cells["kept"]) == ("0.50", "-0.13", "", "")
    assert (cells["surplus"], cells["parse_failures"], len(cells["faults"])) == ("", "2", 2)
    assert cells["name"] == f"step {row.step} · held-out {row.group}"
    row.advantage, row.split = 0.0, "train"
    assert (row_cells(row)["advantage"], row_cells(row)["name"]) == (
        "+0.00",
        f"step {row.step} · {row.group}.{row.member}",
    )
