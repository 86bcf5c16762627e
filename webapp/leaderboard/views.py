"""The leaderboard of a suite, its downloads, two of its entries side by side, and runs' own evaluations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from urllib.parse import parse_qsl

from django.db.models import Count
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from webapp.evaluations.run_tables import run_tables
from webapp.leaderboard.board import Board, read_board
from webapp.leaderboard.cells import p_text, shown, signed, unit_of
from webapp.leaderboard.columns import COLUMNS, MEASURES, SETS, Column, shown_in
from webapp.leaderboard.cost_chart import cost_links, read_cost_chart
from webapp.leaderboard.entries import add_new_entries
from webapp.leaderboard.exports import FORMATS, as_json
from webapp.leaderboard.models import Entry
from webapp.leaderboard.pair import MOST_SHOWN, Problem, read_pair
from webapp.leaderboard.query import read_query
from webapp.leaderboard.table import heads, other_rows, table_rows
from webapp.projects.access import fetch, readable
from webapp.suites.models import PolicyKind, Suite
from webapp.whole_numbers import whole_number

MOST_EXPORTED = 10_000
DOWNLOADS = (("csv", "CSV"), ("json", "JSON"), ("md", "Markdown"))


@require_safe
def leaderboard(request: HttpRequest) -> HttpResponse:
    """The suite of the address, or the one with most entries; runs' own evaluations while no suite has any."""
    waiting = add_new_entries()
    suites = listed_suites()
    query = read_query(request.GET)
    if not suites and not query.suite:
        return run_results(request)
    suite = fetch(Suite, name=query.suite) if query.suite else suites[0]
    board = read_board(suite, query)
    context = {
        **board_context(board),
        "suites": suites,
        "waiting": waiting,
        "policies": PolicyKind.choices,
        "sets": [(key, label, query.address(show=key)) for key, label in SETS.items()],
        "kept": [(name, value) for name, value in parse_qsl(query.address()) if name not in ("q", "policy")],
    }
    return render(request, "leaderboard/board.html", context)


@require_safe
def run_results(request: HttpRequest) -> HttpResponse:
    """What runs had on their own held-out problems, for those that no suite has evaluated."""
    return render(request, "evaluations/leaderboard.html", {**run_tables(request.GET), "suites": listed_suites()})


@require_safe
def export(request: HttpRequest, form: str) -> HttpResponse:
    query = read_query(request.GET)
    board = read_board(fetch(Suite, name=query.suite), query, most=MOST_EXPORTED)
    return exported(board, form)


def exported(board: Board, form: str) -> HttpResponse:
    name = f"leaderboard-{board.suite.name}-v{board.suite_version}.{form}"
    disposition = {"Content-Disposition": f'attachment; filename="{name}"'}
    if form == "json":
        return JsonResponse(as_json(board), headers=disposition, json_dumps_params={"indent": 1})
    if form not in FORMATS:
        raise Http404(f"There is no download as {form[:20]!r}; there are csv, json and md.")
    kind, write = FORMATS[form]
    return HttpResponse(write(board), content_type=kind, headers=disposition)


@require_safe
def pair(request: HttpRequest) -> HttpResponse:
    """Which problems `first` solves and `other` does not, or on which it has more of `measure`."""
    first, other = (_entry(request.GET.get(name, "")) for name in ("first", "other"))
    given = request.GET.get("measure", "")
    measure = COLUMNS[given if given in MEASURES else "success"]
    page = read_pair(first, other, measure)
    lists = ((first, other, page.more_first), (other, first, page.more_other))
    context = {
        "pair": page,
        **{name: signed(getattr(page, name), measure) for name in ("difference", "low", "high")},
        "unit": unit_of(measure),
        "p": p_text(page.p),
        "most": MOST_SHOWN,
        "lists": [(one, its, _shown(problems[:MOST_SHOWN], measure), len(problems)) for one, its, problems in lists],
        "measures": [
            column
            for column in (COLUMNS["success"], *shown_in("results", samples=min(first.samples, other.samples)))
            if column.key in MEASURES
        ],
    }
    return render(request, "leaderboard/pair.html", context)


def listed_suites() -> list[Suite]:
    """Suites with entries, the one with most first."""
    rows = readable(Entry.objects.all()).order_by().values_list("suite")
    entries = dict(rows.annotate(count=Count("pk")))
    suites = readable(Suite.objects.filter(pk__in=entries))
    return sorted(suites, key=lambda suite: (-entries[suite.pk], suite.name))


def board_context(board: Board, *, public: bool = False) -> dict[str, Any]:
    query = board.query
    pages = {
        name: query.address(page=number)
        for name, number in (("previous", query.page - 1), ("next", query.page + 1))
        if 1 <= number <= board.pages
    }
    return {
        "board": board,
        "query": query,
        "heads": heads(board),
        "rows": table_rows(board),
        "others": other_rows(board),
        "pages": pages,
        "chart": read_cost_chart(board, public=public),
        "costs": cost_links(board),
        "without_chart": query.address(against="", page=query.page),
        "public": public,
        "unpinned": query.address(baseline=None),
        "folded": query.address(by_configuration=not query.by_configuration, sort="success", ascending=False),
        "here": query.address(suite=board.suite.name, page=query.page),
        "forms": DOWNLOADS,
    }


def _shown(problems: Sequence[Problem], measure: Column) -> list[tuple[Problem, str, str]]:
    """Each with the two values: of success the solved samples."""
    if measure.key == "success":
        return [(one, f"{one.solved}/{one.scored}", f"{one.other_solved}/{one.other_scored}") for one in problems]
    return [(one, shown(one.score, measure), shown(one.other_score, measure)) for one in problems]


def _entry(text: str) -> Entry:
    pk = whole_number(text)
    return fetch(Entry.objects.select_related("run", "suite"), pk=pk if pk is not None else 0)
