"""The list of sweeps, and the page of one."""

from __future__ import annotations

from typing import Any

from django.db.models import Count, Q
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_safe

from webapp.audit.services import entries_of
from webapp.durations import duration
from webapp.projects.access import fetch, readable
from webapp.runs.config_file import as_toml
from webapp.runs.states import TERMINAL, RunState
from webapp.sweeps.axis_rows import rows_of
from webapp.sweeps.forms import CONFIRM_ABOVE
from webapp.sweeps.models import MOST_AT_ONCE, MOST_RETRIES, Priority, Sweep, SweepState
from webapp.sweeps.preset_groups import preset_groups
from webapp.sweeps.results import MEASURES, SweepResults, estimate_text, labelled
from webapp.sweeps.texts import shown_text

PAGE = 50
METHODS = {"grid": "Grid", "random": "Random draws", "sobol": "Sobol draws", "tpe": "Adaptive search"}


@require_safe
def sweep_list(request: HttpRequest) -> HttpResponse:
    failed = Q(planned__run__state__in=[RunState.FAILED, RunState.CRASHED]) | ~Q(planned__problem="")
    found = readable(Sweep.objects.select_related("owner")).annotate(
        total=Count("planned"),
        ended=Count("planned", filter=Q(planned__run__state__in=TERMINAL)),
        failed=Count("planned", filter=failed),
    )
    rows = [(sweep, [axis.name for axis in sweep.parsed_plan().axes]) for sweep in found[:PAGE]]
    context = {"rows": rows, "presets": preset_groups(), "more": found.count() > PAGE}
    return render(request, "sweeps/list.html", context)


@require_safe
def detail(request: HttpRequest, pk: int) -> HttpResponse:
    sweep = fetch(Sweep.objects.select_related("owner", "environment_version__definition"), pk=pk)
    plan, base = sweep.parsed_plan(), sweep.parsed_config()
    context = {
        **_results(request, sweep),
        "text": shown_text(sweep),
        "plan": plan,
        "base": base,
        "method_text": METHODS[plan.method],
        "rows": list(zip(plan.axes, rows_of(plan.axes), strict=True)),
        "entries": entries_of(sweep),
        "toml": as_toml(base),
        "priorities": Priority.choices,
        "most_at_once": MOST_AT_ONCE,
        "most_retries": MOST_RETRIES,
        "confirm_above": CONFIRM_ABOVE,
        "effects_url": f"{reverse('comparisons:effects')}?sweep={sweep.pk}",
    }
    return render(request, "sweeps/detail.html", context)


@require_safe
def results(request: HttpRequest, pk: int) -> HttpResponse:
    """The parts of the page that change while runs do."""
    sweep = fetch(Sweep, pk=pk)
    return render(request, "sweeps/_refreshed.html", _results(request, sweep))


def _results(request: HttpRequest, sweep: Sweep) -> dict[str, Any]:
    measure = request.GET.get("measure", "")
    measure = measure if measure in MEASURES else sweep.parsed_plan().objective
    tags = [str(one["tag"]) for one in sweep.config["environments"]]
    environment = request.GET.get("environment", "")
    environment = environment if environment in tags else ""
    found = SweepResults(sweep, measure, environment)
    best = found.best
    left = found.seconds_left() if sweep.state == SweepState.RUNNING else None
    return {
        "sweep": sweep,
        "results": found,
        "counts": found.counts(),
        "time_left": duration(left) if left is not None else "",
        "best": best,
        "best_text": estimate_text(best.estimate, share=measure == "success") if best else "",
        "others": best.compared - 1 if best else 0,
        "best_labels": labelled(best.point, found.axes) if best else [],
        "configurations": found.configurations(),
        # of a grid, whose order is chance, there is no history
        "improvements": [] if found.plan.method == "grid" else found.history(),
        "plan_adapts": found.plan.method == "tpe",
        "charts": {"axes": found.charts(), "measure": MEASURES[measure], "share": measure == "success"},
        "heat_map": found.heat_map(request.GET.get("across", ""), request.GET.get("down", "")),
        "levelled": [axis.name for axis in found.plan.axes if axis.type != "range"],
        "measures": MEASURES,
        "measure": measure,
        "measure_name": MEASURES[measure],
        "environment": environment,
    }
