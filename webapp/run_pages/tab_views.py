"""Data of a step for the Collapse and Filter tabs, as JSON."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps

from django.http import HttpRequest, JsonResponse
from django.views.decorators.http import require_GET
from pydantic import ValidationError

from engine.algorithms.filters import FILTERS, FilterBase
from engine.config import problems_by_field
from webapp.projects.access import fetch
from webapp.queries import BadQuery, Query
from webapp.run_pages.step_groups import apply_choice, filter_of, groups_of, shares
from webapp.run_pages.templates_found import counts_of, detail_of
from webapp.runs.models import Run, StepGroups

LATEST_STEP = 2**31 - 1
MOST_STEPS = 60  # in one request
FILTER_KEYS = ("type", "value", "mode", "largest", "include_zero", "epsilon")
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
    run = fetch(Run, pk=run_id)
    row = _row(run, Query(request, ("step",)))
    if row is None:
        return JsonResponse({"step": None, "groups": [], "own": filter_of(run, None).model_dump()})
    answer = {"step": row.step, "groups": groups_of(row), "kept": row.kept, "threshold": row.threshold}
    return JsonResponse({**answer, "own": filter_of(run, row).model_dump()})


@require_GET
@with_query_errors
def what_if(request: HttpRequest, run_id: str) -> JsonResponse:
    """The groups of `step` that a filter with the query's settings would have kept, and its share over all steps.

    Settings that are not given are the run's own at that step.
    """
    run = fetch(Run, pk=run_id)
    query = Query(request, ("step", *FILTER_KEYS))
    row = _row(run, query)
    chosen = _filter(query, filter_of(run, row))
    if row is None:
        return JsonResponse({"step": None, "kept": [], "threshold": 0.0, "choice": chosen.model_dump(), "shares": None})
    kept, threshold = apply_choice(row, chosen)
    answer = {
        "step": row.step,
        "kept": kept,
        "threshold": threshold,
        "choice": chosen.model_dump(),
        "shares": shares(run, chosen),
    }
    return JsonResponse(answer)


@require_GET
@with_query_errors
def templates(request: HttpRequest, run_id: str) -> JsonResponse:
    """With `step`, the templates of that step; with `steps` (comma-separated), the counts of each template per step."""
    run = fetch(Run, pk=run_id)
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


def _filter(query: Query, own: FilterBase) -> FilterBase:
    """The run's own filter with the settings of the query, or another one with its defaults.

    The query may have settings that only other filters read: the page's form sends all it has.
    """
    chosen = query.choice("type", tuple(FILTERS)) or own.type
    model = FILTERS[chosen]
    begun = own.model_dump() if chosen == own.type else {"type": chosen}
    given = {key: query.values[key] for key in FILTER_KEYS if key in query.values and key in model.model_fields}
    try:
        return model.model_validate({**begun, **given})
    except ValidationError as error:
        raise BadQuery("; ".join(f"{field}: {reason}" for field, reason in problems_by_field(error, model))) from None


def _step(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 11 and int(text) <= LATEST_STEP):
        raise BadQuery(f"steps has {text[:60]!r}. Send whole numbers from 0 to {LATEST_STEP}.")
    return int(text)
