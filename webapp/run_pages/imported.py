"""The page of a run whose rollouts were imported."""

from __future__ import annotations

from django.db.models import Avg, Count, Max, Min, Q
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from webapp.copies.models import copy_of
from webapp.run_pages.log_tail import tail
from webapp.runs.indexing import UNINDEXED
from webapp.runs.models import Run

STEPS_SHOWN = 200


def imported_page(request: HttpRequest, run: Run) -> HttpResponse:
    """Shows the source of an imported run, its steps, and the lines that could not be read."""
    rows = run.trajectories.order_by().values("step", "split")
    steps = rows.annotate(
        count=Count("pk"),
        mean=Avg("episode_return"),
        low=Min("episode_return"),
        high=Max("episode_return"),
        groups=Count("group", distinct=True),
        solved=Count("pk", filter=Q(success=True)),
    )
    context = {
        "run": run,
        "steps": list(steps.order_by("step", "split")[:STEPS_SHOWN]),
        "log": tail(run.directory / "engine.log", after=0).text,
        "copy": copy_of(run),
        "waiting": Run.objects.filter(UNINDEXED, pk=run.pk).exists(),
    }
    return render(request, "run_pages/imported.html", context)
