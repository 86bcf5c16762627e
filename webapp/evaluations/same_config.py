"""Compares runs with the same configuration: the first step at which any of their metrics differs, exactly."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from django.db.models import Q

from engine.events import RunStarted
from engine.metrics import OF_THE_MACHINE
from webapp.projects.access import readable
from webapp.runs.models import Run
from webapp.runs.recorded_events import newest_of

LABELS = ("preset", "description")
MOST_SHOWN = 8

Steps = Mapping[int, Mapping[str, float]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """`same` steps are equal. At `step`, if any, `metrics` differ: name and both values, None if missing."""

    same: int
    step: int | None = None
    metrics: list[tuple[str, float | None, float | None]] = field(default_factory=list)


def first_difference(one: Steps, other: Steps) -> Difference:
    """Compares the steps that both have, in order and without tolerance."""
    same = 0
    for step in sorted(one.keys() & other.keys()):
        mine, theirs = _compared(one[step]), _compared(other[step])
        if mine != theirs:
            names = sorted(name for name in mine.keys() | theirs.keys() if mine.get(name) != theirs.get(name))
            differing = [(name, mine.get(name), theirs.get(name)) for name in names]
            return Difference(same=same, step=step, metrics=differing)
        same += 1
    return Difference(same=same)


def _compared(metrics: Mapping[str, float]) -> dict[str, float]:
    return {name: value for name, value in metrics.items() if not name.startswith(OF_THE_MACHINE)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """Two runs with the same configuration, and possible reasons for a difference."""

    one: Run
    other: Run
    difference: Difference
    notes: list[str]

    @property
    def summary(self) -> str:
        found = self.difference
        if found.step is None:
            return f"Identical in all metrics over {_count(found.same, 'common step')}." if found.same else ""
        return f"The first difference is at step {found.step}, in {_count(len(found.metrics), 'metric')}."


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


def compare(one: Run, other: Run) -> Pair:
    notes = [
        f"Settings of {run.name} were changed during the run." for run in (one, other) if run.settings_revision > 0
    ]
    devices = {_device(one), _device(other)} - {""}
    if len(devices) > 1:
        notes.append(f"The runs used different devices: {', '.join(sorted(devices))}.")
    return Pair(one=one, other=other, difference=first_difference(_steps(one), _steps(other)), notes=notes)


def runs_with_same_config(run: Run) -> list[Run]:
    """Runs with the same configuration among the clones of the run, its source, and the clones of that source."""
    family = Q(cloned_from=run)
    if run.cloned_from_id:
        family |= Q(pk=run.cloned_from_id) | Q(cloned_from=run.cloned_from_id)
    candidates = readable(Run.objects.filter(family)).exclude(pk=run.pk).order_by("-created_at")
    return [other for other in candidates if same_config(run, other)][:MOST_SHOWN]


def same_config(one: Run, other: Run) -> bool:
    if one.imported_from or other.imported_from:  # these have no configuration
        return False
    return _compared_config(one) == _compared_config(other)


def same_but_seed(one: Run, other: Run) -> bool:
    """Whether the configurations differ in nothing but the seed."""
    return {**_compared_config(one), "seed": 0} == {**_compared_config(other), "seed": 0}


def _compared_config(run: Run) -> dict[str, Any]:
    """The configuration with defaults filled in, without the labels."""
    config = run.parsed_config().model_dump(mode="json")
    return {key: value for key, value in config.items() if key not in LABELS}


def _steps(run: Run) -> dict[int, dict[str, float]]:
    return dict(run.steps.values_list("step", "metrics"))


def _device(run: Run) -> str:
    started = newest_of(run, RunStarted)
    return started.device if started else ""
