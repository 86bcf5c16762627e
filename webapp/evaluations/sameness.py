"""Where two runs of one configuration part: the first step at which any of their metrics differs, exactly."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from django.db.models import Q

from engine.events import RunStarted
from webapp.runs.models import Run
from webapp.runs.recorded_events import newest_of

# what a clock or a machine decides, and no seed
NOT_COMPARED = ("time/", "perf/", "cluster/")
LABELS = ("preset", "description")
MOST_TWINS = 8

Steps = Mapping[int, Mapping[str, float]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """`same` steps are equal in every metric; at `step`, if any, those of `metrics` are not: None for one not there."""

    same: int
    step: int | None = None
    metrics: list[tuple[str, float | None, float | None]] = field(default_factory=list)


def first_difference(one: Steps, other: Steps) -> Difference:
    """Over the steps that both have, in order. No tolerance: one configuration and seed is one run."""
    same = 0
    for step in sorted(one.keys() & other.keys()):
        mine, theirs = _compared(one[step]), _compared(other[step])
        if mine != theirs:
            names = sorted(name for name in mine.keys() | theirs.keys() if mine.get(name) != theirs.get(name))
            parted = [(name, mine.get(name), theirs.get(name)) for name in names]
            return Difference(same=same, step=step, metrics=parted)
        same += 1
    return Difference(same=same)


def _compared(metrics: Mapping[str, float]) -> dict[str, float]:
    return {name: value for name, value in metrics.items() if not name.startswith(NOT_COMPARED)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """Two runs of one configuration, and what may be the reason where they part."""

    one: Run
    other: Run
    difference: Difference
    notes: list[str]

    @property
    def words(self) -> str:
        found = self.difference
        if found.step is None:
            return f"Equal in every metric of the {_count(found.same, 'step')} that both have." if found.same else ""
        return f"The first step that differs is {found.step}, in {_count(len(found.metrics), 'metric')}."


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


def compare(one: Run, other: Run) -> Pair:
    notes = [f"Settings of {run.name} were changed while it ran." for run in (one, other) if run.settings_revision > 0]
    devices = {_device(one), _device(other)} - {""}
    if len(devices) > 1:
        notes.append(f"They ran on different devices: {', '.join(sorted(devices))}.")
    return Pair(one=one, other=other, difference=first_difference(_steps(one), _steps(other)), notes=notes)


def twins(run: Run) -> list[Run]:
    """Other runs of the same configuration, among its clones, what it was cloned from, and that one's clones."""
    family = Q(cloned_from=run)
    if run.cloned_from_id:
        family |= Q(pk=run.cloned_from_id) | Q(cloned_from=run.cloned_from_id)
    candidates = Run.objects.filter(family).exclude(pk=run.pk).order_by("-created_at")
    return [other for other in candidates if same_config(run, other)][:MOST_TWINS]


def same_config(one: Run, other: Run) -> bool:
    if one.imported_from or other.imported_from:  # of another trainer, with no configuration to compare
        return False
    return _decides(one) == _decides(other)


def same_but_seed(one: Run, other: Run) -> bool:
    """Whether nothing but their seeds decides how the two differ."""
    return {**_decides(one), "seed": 0} == {**_decides(other), "seed": 0}


def _decides(run: Run) -> dict[str, Any]:
    """Read by the engine's class, which fills in what an older run had no choice of."""
    config = run.parsed_config().model_dump(mode="json")
    return {key: value for key, value in config.items() if key not in LABELS}


def _steps(run: Run) -> dict[int, dict[str, float]]:
    return dict(run.steps.values_list("step", "metrics"))


def _device(run: Run) -> str:
    started = newest_of(run, RunStarted)
    return started.device if started else ""
