"""The comparison of runs."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_safe

from engine.metrics import GLOSSARY
from engine.verdict.regimes import REGIMES
from webapp.comparisons import page as comparison
from webapp.comparisons.alert_table import alert_table, alerted
from webapp.comparisons.effects import effects
from webapp.comparisons.final_metrics import final_metrics
from webapp.comparisons.first_curves import first_curves
from webapp.comparisons.group_table import group_rows
from webapp.comparisons.grouping import seed_of
from webapp.comparisons.selection import MOST_RUNS, QUERY, query_words, selection_query
from webapp.comparisons.shared_trajectories import shared_problems
from webapp.evaluations import same_config
from webapp.evaluations.results import chosen_pair, results
from webapp.evaluations.same_config import Pair
from webapp.projects.access import readable
from webapp.run_pages.run_filters import FILTERS
from webapp.runs.lineage import lineage_facts
from webapp.runs.models import MetricName, Run

CHOICES = 60
MOST_PAIRS = 8  # of runs of one configuration, which are compared step by step
MOST_MAPS = 8  # before a reader asks for more
MOST_SAID = 6  # runs whose alerts are shown with their message
DIAGNOSED = "collapse/mi_ratio"


@require_safe
def compare(request: HttpRequest) -> HttpResponse:
    view = comparison.read_view(request.GET)
    hidden = request.GET.get("hidden", "").split(",")
    metrics = final_metrics(view.runs, view.metrics)
    differing = comparison.short_differences(view.settings, len(view.runs))
    together = {view.runs[index].pk for group in view.groups if len(group.members) > 1 for index in group.members}
    return render(
        request,
        "comparisons/compare.html",
        {
            "view": view,
            "first_curves": first_curves(view.runs, view.metrics, {*hidden, *together}),
            "runs": list(zip(view.runs, view.dashes, strict=True)),
            "legend": list(zip(view.runs, view.dashes, differing, strict=True)),
            "has_forks": any(run.ancestor_steps for run in view.runs),
            "metric_names": comparison.metric_names(view.runs),
            "group_fields": [
                field for field in (*view.labels, *view.settings) if field.groups_runs or field.key == view.group_key
            ],
            "bands": comparison.BANDS,
            "settings": {
                "runs": _series_sources(view),
                "metrics": view.metrics,
                "groups": [asdict(group) for group in view.groups],
                "group": view.group_key,
                "band": view.band,
            },
            "final_metrics": metrics,
            "group_rows": group_rows(view, view.metrics),
            "final_rows": [
                (run, dash, [metric.values[index] for metric in metrics])
                for index, (run, dash) in enumerate(zip(view.runs, view.dashes, strict=True))
            ],
            "effects_url": f"{reverse('comparisons:effects')}?{selection_query(request.GET)}",
            **_alerts(view),
            "diagnosed": _diagnosed(view.runs),
            "most_maps": MOST_MAPS,
            "regimes": {key: text._asdict() for key, text in REGIMES.items()},
            "shared": shared_problems(view.runs) if len(view.runs) > 1 else None,
            "differences": view.differences if len(view.runs) > 1 else None,
            "results": results(view.runs),
            "pair": chosen_pair(view.runs, request.GET.dict()),
            "kept_query": [(key, value) for key, value in request.GET.items() if key not in ("first", "other")],
            "pairs": _pairs(view.runs),
            "choices": readable(Run.objects.filter(archived_at=None)).order_by("-created_at")[:CHOICES],
            "most_runs": MOST_RUNS,
            "filters": FILTERS,
            "query": {name: request.GET.get(name, "") for name in QUERY},
            "query_tags": request.GET.getlist("tag"),
            "query_words": query_words(request.GET),
            "glossary": {name: asdict(metric) for name, metric in GLOSSARY.items()},
        },
    )


@require_safe
def effects_data(request: HttpRequest) -> HttpResponse:
    """What the outcome that the URL names goes with."""
    return JsonResponse(effects(request.GET))


def _pairs(runs: list[Run]) -> list[Pair]:
    """The first run with each run of the same configuration."""
    same = (
        other
        for other in runs[1:]
        if seed_of(other) == seed_of(runs[0]) and same_config.same_config(runs[0], other)  # the seed is read at once
    )
    return [same_config.compare(runs[0], other) for other, _ in zip(same, range(MOST_PAIRS), strict=False)]


def _alerts(view: comparison.View) -> dict[str, Any]:
    """The runs in which alerts have fired, with the first of each rule; how many others there are."""
    runs = alerted(view.runs)
    return {
        "alerts": alert_table(runs),
        "alerted": [(run, dash) for run, dash in zip(view.runs, view.dashes, strict=True) if run in runs],
        "alerts_said": len(runs) <= MOST_SAID,
        "without_alerts": len(view.runs) - len(runs),
    }


def _diagnosed(runs: list[Run]) -> list[Run]:
    """Those with collapse diagnostics."""
    known = set(MetricName.objects.filter(run__in=runs, name=DIAGNOSED).values_list("run_id", flat=True))
    return [run for run in runs if run.pk in known]


def _series_sources(view: comparison.View) -> list[dict[str, Any]]:
    groups = {index: position for position, group in enumerate(view.groups) for index in group.members}
    return [
        {
            **{key: state[key] for key in ("id", "name", "state", "shown_as", "label", "step")},
            "colour": run.colour,
            "dash": dash,
            "lineage": lineage_facts(run),
            "group": groups.get(index),
            "seed": seed_of(run),
        }
        for index, (run, dash) in enumerate(zip(view.runs, view.dashes, strict=True))
        for state in [run.live_state()]
    ]
