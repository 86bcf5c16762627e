"""What an outcome of the compared runs goes with: for each setting that differs its rank correlation and its share of
the variance, with what parallel coordinates and a scatter plot draw."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from django.http import QueryDict

from engine.metrics import describe
from engine.statistics.effect_of_settings import effect_share, rank_correlation, spearman
from webapp.comparisons.fields import NOT_SET, Field, axis_fields, number_of, setting_fields, settings_of
from webapp.comparisons.final_metrics import outcomes
from webapp.comparisons.page import first_metrics, metric_names
from webapp.comparisons.selection import select
from webapp.runs.models import ListedRun, Run

MOST_RUNS = 300
MOST_FIELDS = 24  # in the table; parallel coordinates have the first of them
FEWEST_RUNS = 3
SAME_SETTINGS = "These runs differ in their seeds only: there is no setting to relate the outcome to."
SEED = 1  # of resampling: the same runs give the same intervals


@dataclass(frozen=True, slots=True, kw_only=True)
class Swept:
    """A setting that differs. `numbers` has None where it is not set; `also` are settings that always change with it,
    so that the same runs share a value."""

    key: str
    label: str
    values: list[str]
    numbers: list[float | None] | None
    also: list[str]

    @property
    def complete(self) -> list[float] | None:
        """The numbers if every run has one."""
        if self.numbers is None:
            return None
        known = [number for number in self.numbers if number is not None]
        return known if len(known) == len(self.numbers) else None


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
    y = [value for _, value in known]
    fields = sorted(_swept(runs), key=lambda field: _strength(field, y), reverse=True)
    if not fields:
        return {**about, "problem": SAME_SETTINGS}
    shown = fields[:MOST_FIELDS]
    configurations = _configurations(runs)
    return {
        **about,
        "left_out": len(selection.runs) - len(known),
        "more_fields": len(fields) - len(shown),
        "runs": [
            {"id": run.pk, "name": run.name, "colour": run.colour, "seed": run.config.get("seed"), "y": value}
            for run, value in known
        ],
        "fields": [asdict(field) for field in shown],
        "effects": [asdict(_effect(field, y, configurations)) for field in shown],
    }


def _swept(runs: Sequence[Run]) -> list[Swept]:
    """Those by which the same runs have the same value are one."""
    settings = [field for field in setting_fields(settings_of(runs)) if field.key != "seed"]
    named = {field.key for field in settings}
    fields = [*(axis for axis in axis_fields(runs) if axis.groups_runs and axis.label not in named), *settings]
    together: dict[tuple[int, ...], list[Field]] = {}
    for field in fields:
        levels = {value: index for index, value in enumerate(dict.fromkeys(field.values))}
        together.setdefault(tuple(levels[value] for value in field.values), []).append(field)
    return [
        Swept(
            key=first.key,
            label=first.label,
            values=first.values,
            numbers=_numbers(first.values),
            also=[other.label for other in others],
        )
        for first, *others in together.values()
    ]


def _numbers(values: Sequence[str]) -> list[float | None] | None:
    found = [None if value == NOT_SET else number_of(value) for value in values]
    unread = any(number is None and value != NOT_SET for number, value in zip(found, values, strict=True))
    return None if unread or len({*found} - {None}) < 2 else found


def _strength(field: Swept, outcome: Sequence[float]) -> float:
    """The share of the variance beyond that by chance: between values, or along ranks, of which chance gives
    1 / (n - 1). Where every run has a value of its own there is only the second."""
    share = effect_share(field.values, outcome, seed=SEED)
    rho = spearman(field.complete, outcome) if field.complete is not None else None
    between = share.share - share.by_chance if share else -1.0
    along = rho**2 - 1 / (len(outcome) - 1) if rho is not None else -1.0
    return max(between, along)


def _effect(field: Swept, outcome: Sequence[float], configurations: Sequence[str]) -> Effect:
    numbers = field.complete
    correlation = rank_correlation(numbers, outcome, configurations, seed=SEED) if numbers is not None else None
    share = effect_share(field.values, outcome, seed=SEED)
    problem = "" if correlation or share else "too few runs with each value"
    return Effect(
        key=field.key,
        correlation=asdict(correlation) if correlation else None,
        share=asdict(share) if share else None,
        problem=problem,
    )


def _configurations(runs: Sequence[Run]) -> list[str]:
    keys = dict(ListedRun.objects.filter(pk__in=[run.pk for run in runs]).values_list("pk", "config_key"))
    return [keys.get(run.pk, run.pk) for run in runs]


def _first_outcome(runs: Sequence[Run]) -> str:
    metrics = first_metrics(runs)
    return metrics[1] if metrics[1].startswith("eval/") else metrics[0]


def _too_few(count: int, title: str) -> str:
    have = "No run has" if not count else f"{count} run{'' if count == 1 else 's'} {'has' if count == 1 else 'have'}"
    return f"{have} “{title}”; importance needs {FEWEST_RUNS} runs or more."
