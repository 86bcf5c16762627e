"""The points of a plan: a value on each axis. And its trials, a point with a seed, in the order in which they run.

An adaptive search begins with points of `points_of`; `engine.sweeps.adaptive` proposes each later one from the results
so far. Everything after it takes points as they are.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import math
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from engine.sweeps.axes import Axis, Level, RangeAxis, Value, label_of
from engine.sweeps.plan import SweepPlan

FIRST_POINTS = 10  # of an adaptive search, before it has results to follow


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """`labels` by name of the axis, in the order of the axes; `changes` are all fields that the point sets, and `axes`
    has the name of the axis that sets each."""

    labels: Mapping[str, str]
    changes: Mapping[str, Value]
    axes: Mapping[str, str] = field(default_factory=dict)

    @property
    def text(self) -> str:
        """`loss.kl_coefficient = 0.01, filter.type = none`."""
        return ", ".join(f"{axis} = {label}" for axis, label in self.labels.items())

    @property
    def key(self) -> str:
        """The same for the same changes, whatever the order of axes."""
        text = json.dumps(dict(self.changes), sort_keys=True)
        return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    point: Point
    seed: int


def points_of(plan: SweepPlan, base: Mapping[str, Any]) -> list[Point]:
    """All points, each once; of an adaptive search the first ones. `base` says which fields are whole numbers."""
    if plan.method == "grid":
        levels = [_levels(axis, base) for axis in plan.axes]
        found = [point_at(plan.axes, chosen) for chosen in itertools.product(*levels)]
    else:
        shares = _random(plan) if plan.method == "random" else _sobol(plan)
        found = [
            point_at(plan.axes, [_drawn(axis, share, base) for axis, share in zip(plan.axes, row, strict=True)])
            for row in shares
        ]
    return list({point.key: point for point in found}.values())


def fixed(plan: SweepPlan, base: Mapping[str, Any]) -> SweepPlan:
    """A grid with its ranges as the values that they stand for, so that values can be added later."""
    if plan.method != "grid":
        return plan
    axes = [axis.spaced(whole=is_whole(axis, base)) if isinstance(axis, RangeAxis) else axis for axis in plan.axes]
    return plan.model_copy(update={"axes": axes})


def point_by_point(points: Sequence[Point], seeds: Sequence[int]) -> Iterator[Trial]:
    """All seeds of a point before the next one: an adaptive search follows points that are complete."""
    return (Trial(point=point, seed=seed) for point in points for seed in seeds)


def trials_of(points: Sequence[Point], seeds: Sequence[int], sweep_seed: int) -> Iterator[Trial]:
    """Seed by seed, so that a sweep that is cut short has complete seeds; shuffled within a seed, so that no value of
    an axis has the later hours of a machine to itself."""
    for seed in seeds:
        order = list(points)
        random.Random(f"{sweep_seed} {seed}").shuffle(order)
        yield from (Trial(point=point, seed=seed) for point in order)


def _levels(axis: Axis, base: Mapping[str, Any]) -> list[Level]:
    if isinstance(axis, RangeAxis):
        return axis.spaced(whole=is_whole(axis, base)).levels()
    return axis.levels()


def _drawn(axis: Axis, share: float, base: Mapping[str, Any]) -> Level:
    """The level at a share from 0 to 1; of an axis with given levels each is as likely."""
    if isinstance(axis, RangeAxis):
        value = axis.at(share, whole=is_whole(axis, base))
        return Level(label=label_of(value), changes={axis.field: value})
    levels = axis.levels()
    return levels[min(int(share * len(levels)), len(levels) - 1)]


def point_at(axes: Sequence[Axis], levels: Sequence[Level]) -> Point:
    return Point(
        labels={axis.name: level.label for axis, level in zip(axes, levels, strict=True)},
        changes={name: value for level in levels for name, value in level.changes.items()},
        axes={name: axis.name for axis, level in zip(axes, levels, strict=True) for name in level.changes},
    )


def is_whole(axis: RangeAxis, base: Mapping[str, Any]) -> bool:
    """Where the base has a whole number and the range begins and ends at one."""
    value: Any = base
    for part in axis.field.split("."):
        if isinstance(value, Mapping):
            value = value.get(part)
        elif isinstance(value, list) and part.isdecimal() and int(part) < len(value):
            value = value[int(part)]
        else:
            return False
    is_count = isinstance(value, int) and not isinstance(value, bool)
    return is_count and axis.low.is_integer() and axis.high.is_integer()


def _random(plan: SweepPlan) -> list[list[float]]:
    """Row by row, so that more points begin with the same ones."""
    draw = random.Random(plan.sweep_seed).random  # the same on every version of Python
    return [[draw() for _ in plan.axes] for _ in range(plan.points)]


def _sobol(plan: SweepPlan) -> list[list[float]]:
    """The first points of a scrambled Sobol sequence (Sobol 1967, scrambled after Owen 1998); all of them, or those
    that an adaptive search begins with."""
    from scipy.stats.qmc import Sobol

    if not plan.axes:
        return [[]]
    # a power of two, as the sequence is balanced there; more points begin with the same ones
    count = plan.points if plan.method == "sobol" else min(plan.points, FIRST_POINTS)
    size = max(0, math.ceil(math.log2(count)))
    drawn = Sobol(len(plan.axes), scramble=True, rng=plan.sweep_seed).random_base2(size)
    return [[float(share) for share in row] for row in drawn[:count]]
