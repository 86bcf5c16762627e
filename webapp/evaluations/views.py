"""The comparison of runs, and the tables of their own evaluations."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from engine.metrics import GLOSSARY
from engine.statistics.means import t_quantile
from webapp.environments.differences import leaf_differences
from webapp.evaluations import compare as comparison
from webapp.evaluations import same_config
from webapp.evaluations.endings import add_endings
from webapp.evaluations.first_curves import first_curves
from webapp.evaluations.leaderboard import add_run_facts, tables
from webapp.evaluations.results import chosen_pair, results
from webapp.evaluations.same_config import Pair
from webapp.runs.lineage import lineage_facts
from webapp.runs.models import Run
from webapp.runs.settings_history import settings_histories, with_history

CHOICES = 60
MOST_ROWS = 1000


def run_tables(query: Mapping[str, str]) -> dict[str, Any]:
    """Runs' own final evaluations, for `evaluations/leaderboard.html`."""
    found = tables()
    chosen = query.get("environment", "")
    shown = [table for table in found if table.anchor == chosen] or found
    everything = query.get("rows") == str(MOST_ROWS)
    for table in shown if everything else []:
        table.most_rows = MOST_ROWS
    add_run_facts(shown)
    add_endings(shown)
    return {"tables": shown, "all_tables": found, "chosen": chosen, "everything": everything}


@require_safe
def compare(request: HttpRequest) -> HttpResponse:
    view = comparison.read_view(request.GET)
    histories = settings_histories([run.pk for run in view.runs])
    configs = [with_history(run.config, histories.get(run.pk, [])) for run in view.runs]
    found = leaf_differences(configs) if len(view.runs) > 1 else None
    differing = comparison.short_differences(found, len(view.runs))
    return render(
        request,
        "evaluations/compare.html",
        {
            "view": view,
            "first_curves": first_curves(view.runs, view.metrics, request.GET.get("hidden", "").split(",")),
            "runs": list(zip(view.runs, view.dashes, strict=True)),
            "legend": list(zip(view.runs, view.dashes, differing, strict=True)),
            "has_forks": any(run.ancestor_steps for run in view.runs),
            "metric_names": comparison.metric_names(view.runs),
            "settings": {
                "runs": _series_sources(view),
                "metrics": view.metrics,
                "quantiles": [t_quantile(df) for df in range(1, comparison.MOST_RUNS)],
            },
            "differences": found,
            "results": results(view.runs),
            "pair": chosen_pair(view.runs, request.GET.dict()),
            "kept_query": [(key, value) for key, value in request.GET.items() if key not in ("first", "other")],
            "pairs": _pairs(view.runs),
            "choices": Run.objects.filter(archived_at=None).order_by("-created_at")[:CHOICES],
            "most_runs": comparison.MOST_RUNS,
            "glossary": {name: asdict(metric) for name, metric in GLOSSARY.items()},
        },
    )


def _pairs(runs: list[Run]) -> list[Pair]:
    """The first run with each run of the same configuration."""
    return [same_config.compare(runs[0], other) for other in runs[1:] if same_config.same_config(runs[0], other)]


def _series_sources(view: comparison.View) -> list[dict[str, Any]]:
    groups = comparison.seed_groups(view.runs)
    return [
        {
            **{key: run.live_state()[key] for key in ("id", "name", "state", "shown_as", "label", "step")},
            "colour": run.colour,
            "dash": dash,
            "lineage": lineage_facts(run),
            "group": group,
            "seed": comparison.seed_of(run),
        }
        for run, dash, group in zip(view.runs, view.dashes, groups, strict=True)
    ]
