"""How long a sweep takes, by the steps of earlier runs of the same environment with the same model."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from statistics import median

from django.db.models.fields.json import KeyTextTransform, KeyTransform

from engine.config import RunConfig
from webapp.runs.models import Run

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


def estimate(configs: Iterable[RunConfig], seeds: int, slots: int) -> Estimate:
    """Of each configuration with so many seeds, `slots` runs at a time."""
    rates: dict[tuple[str, str], list[float]] = {}
    found: list[float] = []
    runs = steps = trajectories = 0
    known = True
    for config in configs:
        key = (config.environments[0].kind, config.model.path)
        if key not in rates:
            rates[key] = rates_of(*key)
        size = config.rollout.groups * config.rollout.group_size * config.steps
        runs, steps, trajectories = runs + seeds, steps + seeds * config.steps, trajectories + seeds * size
        if rates[key]:
            found += [size * median(rates[key])] * seeds
        else:
            known = False
    total = sum(found)
    return Estimate(
        runs=runs,
        steps=steps,
        trajectories=trajectories,
        seconds=total if known and found else None,
        wall=max(total / slots, max(found)) if known and found else None,
        earlier=sum(len(one) for one in rates.values()),
    )


def rates_of(kind: str, model: str) -> list[float]:
    """Seconds per trajectory of recent runs of an environment with a model."""
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
    return [seconds / step / (int(groups) * int(size)) for seconds, step, groups, size in recent]
