"""What the list shows: one page of rows with the places that were found, the heads to sort by, and links around it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from webapp.runs.models import Run
from webapp.trajectories import services
from webapp.trajectories.filters import ANY_RULE, KEPT, SPLITS, Filters, read_filters
from webapp.trajectories.losses import lost_shards
from webapp.trajectories.models import Trajectory, TrajectoryText
from webapp.trajectories.paging import COLUMNS, NEWEST, Column, Page, Sort, page_of, read_sort
from webapp.trajectories.search.snippets import Snippet, snippet

FOLDED = ("seed", "low", "high", "adv_low", "adv_high", "turns_low", "turns_high", "tokens_low", "tokens_high", "stop")


@dataclass(frozen=True, slots=True, kw_only=True)
class Head:
    """A table head: `query` sorts by it, `order` is the value of aria-sort."""

    column: Column
    query: str
    order: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    row: Trajectory
    snippet: Snippet | None


def list_page(run: Run, query: Mapping[str, str]) -> dict[str, Any]:
    """The context of the list's template."""
    filters = read_filters(query, run_id=run.pk)
    sort = read_sort(query.get("sort", ""))
    facets = services.facets(run)
    rows = filters.apply(Trajectory.objects.filter(run=run))
    page = page_of(rows, sort, after=query.get("after", ""), before=query.get("before", ""))
    summaries = services.summaries(rows)
    lost = lost_shards(run, filters)
    return {
        "run": run,
        "filters": filters,
        "facets": facets,
        "summaries": summaries,
        "total": sum(summary.total for summary in summaries),
        "lost": lost,
        "lost_count": sum(shard.count for shard in lost),
        "page": page,
        "found": _found(page.rows, filters),
        "unsearchable": services.unsearchable(run, facets) if filters.terms else 0,
        "heads": _heads(filters, sort, several=len(facets.environments) > 1),
        "links": _links(filters, sort, page),
        "sort": "" if sort == NEWEST else sort.name,
        "splits": SPLITS,
        "kept_choices": KEPT,
        "any_rule": ANY_RULE,
        "unfolded": any(name in filters.values for name in FOLDED),
    }


def _found(rows: Sequence[Trajectory], filters: Filters) -> list[Found]:
    if not filters.terms:
        return [Found(row=row, snippet=None) for row in rows]
    texts = TrajectoryText.objects.in_bulk([row.pk for row in rows])
    return [Found(row=row, snippet=snippet(texts[row.pk], filters.terms) if row.pk in texts else None) for row in rows]


def _heads(filters: Filters, sort: Sort, *, several: bool) -> list[Head]:
    """`several` environments have a column."""
    order = "descending" if sort.descending else "ascending"
    return [
        Head(
            column=column,
            query=filters.query(sort=sort.of(column).name),
            order=order if column.name == sort.column.name else "none",
        )
        for column in COLUMNS.values()
        if several or column.name != "environment"
    ]


def _links(filters: Filters, sort: Sort, page: Page) -> dict[str, str]:
    """Query strings of the pages around this one."""
    ordered = "" if sort == NEWEST else sort.name
    return {
        "first": filters.query(sort=ordered),
        "before": filters.query(sort=ordered, before=page.before) if page.before else "",
        "after": filters.query(sort=ordered, after=page.after) if page.after else "",
    }
