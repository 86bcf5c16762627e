"""The list of runs. What it shows is in its URL, so that a link shows the same to others."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.views.decorators.http import require_safe

from engine.metrics import GLOSSARY
from webapp.projects.access import readable, readable_projects
from webapp.run_pages.arrangement import ARRANGEMENTS, Page, Sort, arrangement_of, page_of, read_sort
from webapp.run_pages.columns import FIXED, KINDS, Column, columns_of
from webapp.run_pages.listing import rows_of
from webapp.run_pages.run_filters import FILTERS, find_runs
from webapp.runs.models import MetricName, Run, RunTag
from webapp.whole_numbers import whole_number

CHOSEN = "run_columns"  # in the session: the columns that the user chose last
DEFAULT = "default"
MOST_TAGS = 200
NEWEST = 20  # runs whose metrics are suggested
FILTERING = ("show", "q", "tag", "project", "config", "archived")


@dataclass(frozen=True, slots=True, kw_only=True)
class Head:
    """A heading: `url` sorts by its column, `order` is the value of aria-sort."""

    column: Column
    url: str
    order: str


@require_safe
def run_list(request: HttpRequest) -> HttpResponse:
    if (columns := _columns_to_add(request)) is not None:
        return redirect(
            f"{request.path}{with_changes(request.GET, columns=columns, kind=None, metric=None, columns_reset=None)}"
        )
    table = _table(request.GET)
    page: Page = table["page"]
    older = with_changes(request.GET, page=str(page.number + 1)) if page.last < page.total else ""
    newer = with_changes(request.GET, page=str(page.number - 1)) if page.number > 1 else ""
    context = {
        **table,
        "query": request.GET,
        "newer": newer,
        "older": older,
        "is_new": not readable(Run.objects.all()).exists(),
        **_toolbar(request.GET, table["columns"], table["sort"], table["arrangement"]),
    }
    return render(request, "run_pages/list.html", context)


@require_safe
def run_rows(request: HttpRequest) -> HttpResponse:
    """Only the rows of the table, for a page that received an update."""
    return render(request, "run_pages/_rows.html", _table(request.GET))


def _table(query: QueryDict) -> dict[str, Any]:
    owners = readable(Run.objects.order_by()).values("owner").distinct()[:2]
    columns = columns_of(query.get("columns", "").split(","), several_owners=len(owners) > 1)
    sort = read_sort(query.get("sort", ""))
    arrangement = arrangement_of(query.get("as", ""), sort)
    runs = find_runs(query)
    page = page_of(runs, sort, arrangement, number=whole_number(query.get("page", "")) or 1, unfolded=_unfolded(query))
    rows = rows_of(page.lines, runs, columns)
    return {
        "columns": columns,
        "heads": [_head(column, query, sort) for column in columns],
        "sort": sort,
        "arrangement": arrangement,
        "page": page,
        "rows": [(row, _fold_url(query, row)) for row in rows],
    }


def _columns_to_add(request: HttpRequest) -> str | None:
    """The columns that the URL lacks: those of the form, or those that the user chose last. None if it lacks none."""
    given, query = request.GET.getlist("columns"), request.GET
    kind, metric = query.get("kind", ""), query.get("metric", "").strip()
    if "columns_reset" in query:
        return DEFAULT
    if len(given) > 1 or metric:
        chosen = [key for text in given for key in text.split(",") if key]
        return ",".join([*chosen, f"{kind}:{metric}"] if metric and kind in KINDS else chosen)
    if not given:
        return request.session.get(CHOSEN)
    if given == [DEFAULT]:
        request.session.pop(CHOSEN, None)
    elif request.session.get(CHOSEN) != given[0]:
        request.session[CHOSEN] = given[0]
    return None


def _toolbar(query: QueryDict, columns: list[Column], sort: Sort, arrangement: str) -> dict[str, Any]:
    projects = list(readable_projects())
    shown = {column.key for column in columns}
    fixed = [(column, column.key in shown) for column in FIXED.values()]
    metrics = [(column, True) for column in columns if column.key not in FIXED]
    return {
        "filters": [
            {"key": key, "label": label, "url": with_changes(query, show=key, page=None)}
            for key, (label, _) in FILTERS.items()
        ],
        "show": query.get("show", "all"),
        "tags": [(tag, _without_tag(query, tag)) for tag in query.getlist("tag")],
        "known_tags": readable(RunTag.objects.order_by("name")).values_list("name", flat=True).distinct()[:MOST_TAGS],
        "projects": projects if len(projects) > 1 else [],
        "arrangements": [
            (key, label, with_changes(query, **{"as": key, "page": None})) for key, label in ARRANGEMENTS.items()
        ],
        "choices": fixed + metrics,
        "kinds": KINDS,
        "metric_names": _suggested_metrics(),
        "sort_text": f"{'-' if sort.descending else ''}{sort.key}" if sort.column else "",
        "orders": [("", "Newest first"), *(order for column in columns for order in _orders(column))],
        "unfiltered": with_changes(query, **dict.fromkeys((*FILTERING, "page"))),
        "is_filtered": any(query.get(name) for name in FILTERING if name != "archived"),
        "back": query.urlencode(),
        "kept_by_search": _others(query, "q", "project", "page", "open"),
        "kept_by_sort": _others(query, "sort", "page"),
        "kept_by_columns": _others(query, "columns", "kind", "metric"),
        "is_folded": arrangement == "configuration",
    }


def _orders(column: Column) -> list[tuple[str, str]]:
    """Both directions, the usual one first."""
    up, down = (column.key, f"{column.label} ↑"), (f"-{column.key}", f"{column.label} ↓")
    return [down, up] if _starts_high(column) else [up, down]


def _starts_high(column: Column) -> bool:
    return column.right or column.numeric or column.key == "started"


def _head(column: Column, query: QueryDict, sort: Sort) -> Head:
    """A click sorts, a second one turns the order around."""
    by_this = sort.key == column.key
    descending = not sort.descending if by_this else _starts_high(column)
    order = ("descending" if sort.descending else "ascending") if by_this else "none"
    url = with_changes(query, sort=f"{'-' if descending else ''}{column.key}", page=None)
    return Head(column=column, url=url, order=order)


def _suggested_metrics() -> list[str]:
    newest = readable(Run.objects.all()).order_by("-created_at").values_list("pk", flat=True)[:NEWEST]
    reported = MetricName.objects.filter(run__in=list(newest)).order_by().values_list("name", flat=True).distinct()
    return sorted({*reported, *(name for name in GLOSSARY if "<" not in name)})


def _unfolded(query: QueryDict) -> list[str]:
    return [key for key in query.get("open", "").split(",") if key]


def _fold_url(query: QueryDict, row: Any) -> str:
    """Unfolds or folds the configuration of `row`; empty for a run."""
    key = getattr(row, "config_key", "")
    if not key:
        return ""
    opened = _unfolded(query)
    left = [one for one in opened if one != key] if key in opened else [*opened, key]
    return with_changes(query, open=",".join(left))


def _others(query: QueryDict, *names: str) -> list[tuple[str, str]]:
    """What a form that has fields `names` must carry on."""
    return [(name, value) for name, values in query.lists() if name not in names for value in values]


def _without_tag(query: QueryDict, tag: str) -> str:
    copy = query.copy()
    copy.setlist("tag", [one for one in query.getlist("tag") if one != tag])
    return with_changes(copy, page=None)


def with_changes(query: QueryDict, **changes: str | None) -> str:
    """The query string with some parameters replaced."""
    copy = query.copy()
    for key, value in changes.items():
        copy.pop(key, None)
        if value:
            copy[key] = value
    return f"?{copy.urlencode()}" if copy else "?"
