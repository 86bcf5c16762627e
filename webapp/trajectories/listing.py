"""The list: one page of rows with search snippets, sortable headers, and links to other pages; its counts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from webapp.projects.access import readable
from webapp.runs.models import Run
from webapp.trajectories.faults import KINDS, label_of
from webapp.trajectories.filters import ANY_RULE, KEPT, SPLITS, Filters, read_filters
from webapp.trajectories.models import Trajectory, TrajectoryText
from webapp.trajectories.nearest import nearest_steps
from webapp.trajectories.paging import COLUMNS, Column, Page, Sort, page_of, read_sort
from webapp.trajectories.row_cells import row_cells
from webapp.trajectories.scope import Scope
from webapp.trajectories.search.snippets import Snippet, snippet
from webapp.trajectories.services import Facets
from webapp.trajectories.split_comparison import split_comparison

RUN_NAMES = 50
COUNTED_AT_ONCE = 5000  # trajectories of a list whose page has its counts; a longer list's page asks for them later
FOLDED = ("seed", "low", "high", "adv_low", "adv_high", "turns_low", "turns_high", "tokens_low", "tokens_high", "stop")


@dataclass(frozen=True, slots=True, kw_only=True)
class Head:
    """A table header: `query` sorts by it, `order` is the value of aria-sort."""

    column: Column
    query: str
    order: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """`run` is set if the list is over all runs; `cells` are those of `row_cells`."""

    cells: dict[str, Any]
    snippet: Snippet | None
    run: Run | None
    only: str  # the query for its run only


def list_page(scope: Scope, query: Mapping[str, str]) -> dict[str, Any]:
    """The context of the list's template."""
    filters = read_filters(query, run_id=scope.run_id)
    sort = read_sort(query.get("sort", ""), scope.newest)
    facets = scope.facets()
    page = page_of(scope.rows(), sort, filters=filters, after=query.get("after", ""), before=query.get("before", ""))
    lost = scope.lost(filters)
    columns = _columns(scope, facets)
    counted = facets.total + facets.superseded <= COUNTED_AT_ONCE
    return {
        "scope": scope,
        "run": scope.run,
        "filters": filters,
        "facets": facets,
        **(_counted(scope, filters, facets) if counted else {"counts": None}),
        "lost": lost,
        "lost_count": sum(file.count for file in lost),
        "page": page,
        "nearest": [] if page.rows else nearest_steps(scope.rows(), filters),
        "found": _found(page.rows, filters, scope),
        "heads": _heads(filters, sort, columns),
        "columns": columns,
        "links": _links(filters, sort, page, scope.newest),
        "sort": "" if sort == scope.newest else sort.name,
        "run_names": [] if scope.run else _run_names(),
        "splits": SPLITS,
        "kept_choices": KEPT,
        "fault_kinds": {kind: label_of(kind) for kind in KINDS},
        "any_rule": ANY_RULE,
        "unfolded": any(name in filters.values for name in FOLDED),
    }


def counts_of_list(scope: Scope, query: Mapping[str, str]) -> dict[str, Any]:
    """The context of the part of the list that a long list asks for once it is shown."""
    filters, facets = read_filters(query, run_id=scope.run_id), scope.facets()
    return {
        "scope": scope,
        "run": scope.run,
        "filters": filters,
        "facets": facets,
        **_counted(scope, filters, facets),
    }


def _counted(scope: Scope, filters: Filters, facets: Facets) -> dict[str, Any]:
    rows = filters.apply(scope.rows())
    return {
        "counts": scope.counts(rows),
        "split_comparison": split_comparison(rows) if _is_one_step(scope, filters, facets) else [],
    }


def _is_one_step(scope: Scope, filters: Filters, facets: Facets) -> bool:
    """Of one environment, so that returns are comparable."""
    one_environment = len(facets.environments) == 1 or "environment" in filters.values
    return scope.run is not None and "step" in filters.values and one_environment


def _columns(scope: Scope, facets: Facets) -> list[str]:
    """`run` if the list is over all runs, `environment` if there are several, `kept` if there was a filter; `recorded`
    is not a column."""
    left_out = {"recorded"} | ({"run"} if scope.run else set())
    left_out |= set() if len(facets.environments) > 1 else {"environment"}
    left_out |= set() if facets.filtered else {"kept"}
    return [name for name in COLUMNS if name not in left_out]


def _found(rows: Sequence[Trajectory], filters: Filters, scope: Scope) -> list[Found]:
    texts = TrajectoryText.objects.in_bulk([row.pk for row in rows]) if filters.terms else {}
    named = Run.objects.only("name", "archived_at")
    runs = {} if scope.run else named.in_bulk({row.run_id for row in rows})
    return [
        Found(
            cells=row_cells(row),
            snippet=snippet(texts[row.pk], filters.terms) if row.pk in texts else None,
            run=runs.get(row.run_id),
            only=filters.query(run=row.run_id),
        )
        for row in rows
    ]


def _run_names() -> list[str]:
    """Of the newest runs, for completion."""
    return list(dict.fromkeys(readable(Run.objects.order_by("-created_at")).values_list("name", flat=True)[:RUN_NAMES]))


def _heads(filters: Filters, sort: Sort, columns: Sequence[str]) -> list[Head]:
    order = "descending" if sort.descending else "ascending"
    return [
        Head(
            column=COLUMNS[name],
            query=filters.query(sort=sort.of(COLUMNS[name]).name),
            order=order if name == sort.column.name else "none",
        )
        for name in columns
    ]


def _links(filters: Filters, sort: Sort, page: Page, newest: Sort) -> dict[str, str]:
    """Query strings of the pages around this one; `newest` is empty if that is the order."""
    ordered = "" if sort == newest else sort.name
    return {
        "newest": "?" + filters.query() if ordered else "",
        "first": filters.query(sort=ordered),
        "before": filters.query(sort=ordered, before=page.before) if page.before else "",
        "after": filters.query(sort=ordered, after=page.after) if page.after else "",
    }
