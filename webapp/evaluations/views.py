"""The leaderboard."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from webapp.evaluations.endings import add_endings
from webapp.evaluations.leaderboard import add_run_facts, tables

MOST_ROWS = 1000


@require_safe
def leaderboard(request: HttpRequest) -> HttpResponse:
    found = tables()
    chosen = request.GET.get("environment", "")
    shown = [table for table in found if table.anchor == chosen] or found
    everything = request.GET.get("rows") == str(MOST_ROWS)
    for table in shown if everything else []:
        table.most_rows = MOST_ROWS
    add_run_facts(shown)
    add_endings(shown)
    context = {"tables": shown, "all_tables": found, "chosen": chosen, "everything": everything}
    return render(request, "evaluations/leaderboard.html", context)
