"""What the Collapse and Filter views of a run's page ask for by step, as JSON."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from django.http import HttpRequest, JsonResponse
from django.shortcuts import get_object_or_404
from django.views.decorators.http import require_GET
from engine.algorithms.group_choice import MASS, STRATEGIES

from webapp.queries import BadQuery, Query
from webapp.run_pages.step_groups import Choice, choose_again, filter_of, groups_of, own_choice, shares
from webapp.run_pages.templates_found import counts_of, detail_of
from webapp.runs.models import Run, StepGroups

LATEST_STEP = 2**31 - 1
MOST_STEPS = 60  # whose counts are read at once
CHOICE_KEYS = ("strategy", "value", "mode", "largest", "include_zero", "epsilon")
View = Callable[[HttpRequest, str], JsonResponse]


def told_what_is_wrong(view: View) -> View:
    """A query that makes no sense is answered with 400 and what is allowed."""

    @wraps(view)
    def answer(request: HttpRequest, run_id: str) -> JsonResponse:
        try:
            return view(request, run_id)
        except BadQuery as error:
            return JsonResponse({"error": str(error)}, status=400)

    return answer


@require_GET
@told_what_is_wrong
def groups(request: HttpRequest, run_id: str) -> JsonResponse:
    """The groups of `step`, or of the newest; with no groups at all `groups` is empty and `step` null."""
    run = get_object_or_404(Run, pk=run_id)
    row = _row(run, Query(request, ("step",)))
    if row is None:
        return JsonResponse({"step": None, "groups": [], "own": filter_of(run, None)})
    told = {"step": row.step, "groups": groups_of(row), "kept": row.kept, "threshold": row.threshold}
    return JsonResponse({**told, "own": filter_of(run, row)})


@require_GET
@told_what_is_wrong
def what_if(request: HttpRequest, run_id: str) -> JsonResponse:
    """What a filter of the query's settings would have kept of `step`, and its share of the groups of all steps.

    Settings that are left out are the run's own at that step.
    """
    run = get_object_or_404(Run, pk=run_id)
    query = Query(request, ("step", *CHOICE_KEYS))
    row = _row(run, query)
    choice = _choice(query, own_choice(run, row))
    if row is None:
        return JsonResponse({"step": None, "kept": [], "threshold": 0.0, "choice": choice, "shares": None})
    kept, threshold = choose_again(row, choice)
    told = {"step": row.step, "kept": kept, "threshold": threshold, "choice": choice, "shares": shares(run, choice)}
    return JsonResponse(told)


@require_GET
@told_what_is_wrong
def templates(request: HttpRequest, run_id: str) -> JsonResponse:
    """With `step`, the templates of that step; with `steps`, a list with commas, how often each was thought there."""
    run = get_object_or_404(Run, pk=run_id)
    query = Query(request, ("step", "steps"))
    if "step" in query.values:
        found = detail_of(run, query.integer("step", 0, high=LATEST_STEP))
        return JsonResponse(found if found is not None else {"step": None, "templates": []})
    steps = [_step(word) for word in query.words("steps", most=MOST_STEPS)]
    return JsonResponse({"steps": counts_of(run, steps)})


def _row(run: Run, query: Query) -> StepGroups | None:
    """The row of the step that is asked for, else of the last one before it; without a step, the newest."""
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
    least_of_all = key == "value"  # a share of nothing is no choice
    if not (0 <= number <= high) or (least_of_all and number == 0):
        above = "above 0 and at most" if least_of_all else "from 0 to"
        raise BadQuery(f"{key} is {given[:60]!r}. Send a number {above} {high}.")
    return number


def _flag(query: Query, key: str, otherwise: bool) -> bool:
    given = query.choice(key, ("0", "1"))
    return otherwise if given is None else given == "1"


def _step(word: str) -> Any:
    if not (word.isascii() and word.isdigit() and len(word) < 11 and int(word) <= LATEST_STEP):
        raise BadQuery(f"steps has {word[:60]!r}. Send whole numbers from 0 to {LATEST_STEP}.")
    return int(word)
