"""What an outcome of the compared runs goes with: for each setting that differs its rank correlation and its share of
the variance, with what parallel coordinates and a scatter plot draw."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from django.http import QueryDict

from engine.metrics import describe
from engine.statistics.effect_of_settings import effect_share, rank_correlation
from webapp.comparisons.fields import Field, axis_fields, setting_fields, settings_of
from webapp.comparisons.final_metrics import outcomes
from webapp.comparisons.page import first_metrics, metric_names
from webapp.comparisons.selection import select
from webapp.runs.models import ListedRun, Run

MOST_RUNS = 300
MOST_FIELDS = 12  # axes that can still be read
FEWEST_RUNS = 3
SAME_SETTINGS = "These runs have the same settings but for their seeds: nothing differs that the outcome could go with."
SEED = 1  # of resampling: the same runs give the same intervals


@dataclass(frozen=True, slots=True, kw_only=True)
class Effect:
    """`problem` says why there is nothing else."""

    key: str
    correlation: dict[str, Any] | None
    share: dict[str, Any] | None
    problem: str = ""


def effects(query: QueryDict) -> dict[str, Any]:
    """What the panel draws, or a `problem` in a sentence."""
    selection = select(query, MOST_RUNS)
    metric = query.get("outcome") or _first_outcome(selection.runs)
    title = describe(metric).title
    about = {
        "outcome": metric,
        "title": title,
        "outcomes": [{"name": name, "title": describe(name).title} for name in metric_names(selection.runs)],
        "notes": selection.notes,
    }
    values = outcomes(selection.runs, metric)
    known = [(run, value) for run, value in zip(selection.runs, values, strict=True) if value is not None]
    if len(known) < FEWEST_RUNS:
        return {**about, "problem": _too_few(len(known), title)}
    if len({value for _, value in known}) == 1:
        return {**about, "problem": f"All {len(known)} runs have the same “{title}”: {known[0][1]:.4g}."}
    runs = [run for run, _ in known]
    settings = [field for field in setting_fields(settings_of(runs)) if field.key != "seed"]
    named = {field.key for field in settings}
    fields = [*(axis for axis in axis_fields(runs) if axis.groups_runs and axis.label not in named), *settings]
    swept = fields[:MOST_FIELDS]
    if not swept:
        return {
            **about,
            "problem": SAME_SETTINGS,
        }
    y = [value for _, value in known]
    return {
        **about,
        "left_out": len(selection.runs) - len(known),
        "more_fields": max(0, len(fields) - MOST_FIELDS),
        "runs": [
            {"id": run.pk, "name": run.name, "colour": run.colour, "seed": run.config.get("seed"), "y": value}
            for run, value in known
        ],
        "fields": [asdict(field) for field in swept],
        "effects": [asdict(one) for one in _ordered([_effect(field, y, _configurations(runs)) for field in swept])],
    }


def _effect(field: Field, outcome: Sequence[float], configurations: Sequence[str]) -> Effect:
    correlation = (
        rank_correlation(field.numbers, outcome, configurations, seed=SEED) if field.numbers is not None else None
    )
    share = effect_share(field.values, outcome, seed=SEED)
    problem = "" if correlation or share else "too few runs with each value"
    return Effect(
        key=field.key,
        correlation=asdict(correlation) if correlation else None,
        share=asdict(share) if share else None,
        problem=problem,
    )


def _ordered(found: list[Effect]) -> list[Effect]:
    """By how much of the variance there is beyond chance; then by the correlation."""

    def strength(one: Effect) -> tuple[float, float]:
        beyond = one.share["share"] - one.share["by_chance"] if one.share else -1.0
        return beyond, abs(one.correlation["rho"]) if one.correlation else 0.0

    return sorted(found, key=strength, reverse=True)


def _configurations(runs: Sequence[Run]) -> list[str]:
    keys = dict(ListedRun.objects.filter(pk__in=[run.pk for run in runs]).values_list("pk", "config_key"))
    return [keys.get(run.pk, run.pk) for run in runs]


def _first_outcome(runs: Sequence[Run]) -> str:
    metrics = first_metrics(runs)
    return metrics[1] if metrics[1].startswith("eval/") else metrics[0]


def _too_few(count: int, title: str) -> str:
    have = "No run has" if not count else f"{count} run{'' if count == 1 else 's'} {'has' if count == 1 else 'have'}"
    return f"{have} “{title}”; what it goes with needs {FEWEST_RUNS} runs or more."
