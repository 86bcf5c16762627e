"""What a user does to a sweep: stop, resume, its limits, more seeds and values."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_POST
from pydantic import ValidationError

from engine.sweeps.axes import Axis
from engine.sweeps.plan import SweepPlan
from webapp.launching.seeds import seeds_of
from webapp.projects.access import fetch
from webapp.projects.models import Role
from webapp.sweeps.axis_rows import with_more
from webapp.sweeps.forms import CONFIRM_ABOVE
from webapp.sweeps.models import MOST_AT_ONCE, MOST_RETRIES, Priority, Sweep
from webapp.sweeps.services import Refused, change, extend, resume, stop
from webapp.whole_numbers import whole_number


@require_POST
def control(request: HttpRequest, pk: int) -> HttpResponse:
    """`action` is `stop` (its runs as well), `hold` (launch no more) or `resume`."""
    sweep = fetch(Sweep, needs=Role.EDITOR, pk=pk)
    action = request.POST.get("action", "")
    if action in ("stop", "hold"):
        if not stop(sweep, request.user, runs=action == "stop"):
            messages.warning(request, "There is nothing to stop: the sweep launches no more runs.")
    elif action == "resume":
        try:
            count = resume(sweep, request.user)
            messages.info(request, f"{count} run{'' if count == 1 else 's'} will be queued.")
        except Refused as refusal:
            messages.warning(request, str(refusal))
    else:
        return HttpResponse("Send `action` as stop, hold or resume.", status=400, content_type="text/plain")
    return redirect("sweeps:detail", sweep.pk)


@require_POST
def limits(request: HttpRequest, pk: int) -> HttpResponse:
    sweep = fetch(Sweep, needs=Role.EDITOR, pk=pk)
    at_once = whole_number(request.POST.get("at_once", ""))
    retries = whole_number(request.POST.get("retries", ""))
    priority = request.POST.get("priority", "")
    if at_once is None or retries is None or priority not in map(str, Priority.values):
        messages.warning(
            request,
            f"Nothing was changed. Runs at once must be a whole number from 1 to {MOST_AT_ONCE}, retries one from 0 to "
            f"{MOST_RETRIES}.",
        )
    else:
        change(sweep, request.user, at_once=at_once, retries=retries, priority=int(priority))
    return redirect("sweeps:detail", sweep.pk)


@require_POST
def extend_sweep(request: HttpRequest, pk: int) -> HttpResponse:
    """`seeds` and, by index of the axis, `more-0` and so on are added; `points` is the new number of draws."""
    sweep = fetch(Sweep, needs=Role.EDITOR, pk=pk)
    try:
        confirmed = whole_number(request.POST.get("confirm", "")) or 0
        added = extend(
            sweep,
            lambda plan: _extended(plan, request).model_dump(mode="json"),
            most=max(CONFIRM_ABOVE, confirmed),
            user=request.user,
        )
    except (Refused, ValueError) as error:
        messages.warning(request, f"Nothing was added. {_plain(error)}")
    else:
        word = (
            f"{added} run{'' if added == 1 else 's'} added."
            if added
            else "Nothing was added: the sweep has all of it already."
        )
        messages.info(request, word)
    return redirect("sweeps:detail", sweep.pk)


def _extended(plan: SweepPlan, request: HttpRequest) -> SweepPlan:
    text = request.POST.get("seeds", "").strip()
    more = [seed for seed in seeds_of(text) if seed not in plan.seeds] if text else []
    axes: list[Axis] = [
        with_more(axis, request.POST.get(f"more-{index}", "")) if plan.method == "grid" else axis
        for index, axis in enumerate(plan.axes)
    ]
    points = whole_number(request.POST.get("points", "")) or plan.points
    data = {**plan.model_dump(), "axes": [axis.model_dump() for axis in axes], "seeds": [*plan.seeds, *more]}
    return SweepPlan.model_validate({**data, "points": max(points, plan.points)})


def _plain(error: Exception) -> str:
    if isinstance(error, ValidationError):
        return str(error.errors()[0]["msg"]).removeprefix("Value error, ")
    return str(error)
