"""How long a sweep takes, by earlier runs of the same environment with the same model."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from statistics import median

from django.db.models.fields.json import KeyTextTransform, KeyTransform

from engine.config import RunConfig
from webapp.runs.models import Run
from webapp.runs.states import RunState

RECENT = 30
FEWEST_STEPS = 5  # of a run that counts: the first steps are slower


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """`seconds` of engines altogether and `wall` at the limit of runs at once; None where a configuration has no
    earlier run."""

    runs: int
    steps: int
    trajectories: int
    seconds: float | None
    wall: float | None
    earlier: int  # runs that it is based on


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """Of recent runs of an environment with a model: the median seconds of training per trajectory, and those of a
    whole run beside them, for its start and its evaluations."""

    per_trajectory: float
    beside: float
    runs: int

    def seconds(self, trajectories: int) -> float:
        return self.beside + trajectories * self.per_trajectory


def estimate(configs: Iterable[RunConfig], seeds: int, slots: int) -> Estimate:
    """Of each configuration with so many seeds, `slots` runs at a time."""
    paces: dict[tuple[str, str], Pace | None] = {}
    found: list[float] = []
    runs = steps = trajectories = 0
    known = True
    for config in configs:
        key = (config.environments[0].kind, config.model.path)
        if key not in paces:
            paces[key] = pace_of(*key)
        size = config.rollout.groups * config.rollout.group_size * config.steps
        runs, steps, trajectories = runs + seeds, steps + seeds * config.steps, trajectories + seeds * size
        if (pace := paces[key]) is not None:
            found += [pace.seconds(size)] * seeds
        else:
            known = False
    total = sum(found)
    return Estimate(
        runs=runs,
        steps=steps,
        trajectories=trajectories,
        seconds=total if known and found else None,
        wall=max(total / slots, max(found)) if known and found else None,
        earlier=sum(one.runs for one in paces.values() if one is not None),
    )


def pace_of(kind: str, model: str) -> Pace | None:
    """None without a recent run."""
    recent = (
        Run.objects.filter(
            step__gte=FEWEST_STEPS, seconds__gt=0, config__environments__0__kind=kind, config__model__path=model
        )
        .order_by("-created_at")
        .values_list(
            "seconds",
            "step",
            KeyTextTransform("groups", KeyTransform("rollout", "config")),
            KeyTextTransform("group_size", KeyTransform("rollout", "config")),
        )[:RECENT]
    )
    rates = [seconds / step / (int(groups) * int(size)) for seconds, step, groups, size in recent]
    return Pace(per_trajectory=median(rates), beside=_beside(kind, model), runs=len(rates)) if rates else None


def _beside(kind: str, model: str) -> float:
    """By runs that finished in one attempt; 0 without one."""
    times = (
        Run.objects.filter(
            state=RunState.FINISHED, attempt=1, started_at__isnull=False, finished_at__isnull=False,
            config__environments__0__kind=kind, config__model__path=model,
        )
        .order_by("-created_at")
        .values_list("started_at", "finished_at", "seconds")[:RECENT]
    )  # fmt: skip
    beside = [
        max(0.0, (end - start).total_seconds() - seconds)
        for start, end, seconds in times
        if start is not None and end is not None
    ]
    return median(beside) if beside else 0.0
