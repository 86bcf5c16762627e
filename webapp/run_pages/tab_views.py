"""Data of a step for the Collapse and Filter tabs, as JSON."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps

from django.http import HttpRequest, JsonResponse
from django.shortcuts import get_object_or_404
from django.views.decorators.http import require_GET
from engine.algorithms.group_choice import MASS, STRATEGIES

from webapp.queries import BadQuery, Query
from webapp.run_pages.step_groups import Choice, apply_choice, filter_of, groups_of, own_choice, shares
from webapp.run_pages.templates_found import counts_of, detail_of
from webapp.runs.models import Run, StepGroups

LATEST_STEP = 2**31 - 1
MOST_STEPS = 60  # in one request
CHOICE_KEYS = ("strategy", "value", "mode", "largest", "include_zero", "epsilon")
View = Callable[[HttpRequest, str], JsonResponse]


def with_query_errors(view: View) -> View:
    """Answers an invalid query with status 400 and the allowed values."""

    @wraps(view)
    def answer(request: HttpRequest, run_id: str) -> JsonResponse:
        try:
            return view(request, run_id)
        except BadQuery as error:
            return JsonResponse({"error": str(error)}, status=400)

    return answer


@require_GET
@with_query_errors
def groups(request: HttpRequest, run_id: str) -> JsonResponse:
    """The groups of `step`, or of the newest step. If there are none, `groups` is empty and `step` is null."""
    run = get_object_or_404(Run, pk=run_id)
    row = _row(run, Query(request, ("step",)))
    if row is None:
        return JsonResponse({"step": None, "groups": [], "own": filter_of(run, None)})
    answer = {"step": row.step, "groups": groups_of(row), "kept": row.kept, "threshold": row.threshold}
    return JsonResponse({**answer, "own": filter_of(run, row)})


@require_GET
@with_query_errors
def what_if(request: HttpRequest, run_id: str) -> JsonResponse:
    """The groups of `step` that a filter with the query's settings would have kept, and its share over all steps.

    Settings that are not given are the run's own at that step.
    """
    run = get_object_or_404(Run, pk=run_id)
    query = Query(request, ("step", *CHOICE_KEYS))
    row = _row(run, query)
    choice = _choice(query, own_choice(run, row))
    if row is None:
        return JsonResponse({"step": None, "kept": [], "threshold": 0.0, "choice": choice, "shares": None})
    kept, threshold = apply_choice(row, choice)
    answer = {"step": row.step, "kept": kept, "threshold": threshold, "choice": choice, "shares": shares(run, choice)}
    return JsonResponse(answer)


@require_GET
@with_query_errors
def templates(request: HttpRequest, run_id: str) -> JsonResponse:
    """With `step`, the templates of that step; with `steps` (comma-separated), the counts of each template per step."""
    run = get_object_or_404(Run, pk=run_id)
    query = Query(request, ("step", "steps"))
    if "step" in query.values:
        found = detail_of(run, query.integer("step", 0, high=LATEST_STEP))
        return JsonResponse(found if found is not None else {"step": None, "templates": []})
    steps = [_step(text) for text in query.comma_separated("steps", most=MOST_STEPS)]
    return JsonResponse({"steps": counts_of(run, steps)})


def _row(run: Run, query: Query) -> StepGroups | None:
    """The row of the requested step or else of the last step before it; without a step, the newest row."""
    rows = run.groups.select_related("run").order_by("-step")
    return rows.filter(step__lte=query.integer("step", LATEST_STEP, high=LATEST_STEP)).first() or rows.last()


def _choice(query: Query, own: Choice) -> Choice:
    return Choice(
        strategy=query.choice("strategy", ("none", *STRATEGIES)) or own["strategy"],
        value=_number(query, "value", own["value"], high=4096),
        mode=query.choice("mode", tuple(MASS)) or own["mode"],
        largest=_flag(query, "largest", own["largest"]),
        include_zero=_flag(query, "include_zero", own["include_zero"]),
        epsilon=_number(query, "epsilon", own["epsilon"], high=1),
    )


def _number(query: Query, key: str, otherwise: float, *, high: float) -> float:
    given = query.values.get(key)
    if given is None:
        return otherwise
    try:
        number = float(given) if len(given) < 30 else -1.0
    except ValueError:
        number = -1.0
    positive = key == "value"  # a filter that keeps a share of 0 is none
    if not (0 <= number <= high) or (positive and number == 0):
        above = "above 0 and at most" if positive else "from 0 to"
        raise BadQuery(f"{key} is {given[:60]!r}. Send a number {above} {high}.")
    return number


def _flag(query: Query, key: str, otherwise: bool) -> bool:
    given = query.choice(key, ("0", "1"))
    return otherwise if given is None else given == "1"


def _step(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 11 and int(text) <= LATEST_STEP):
        raise BadQuery(f"steps has {text[:60]!r}. Send whole numbers from 0 to {LATEST_STEP}.")
    return int(text)
