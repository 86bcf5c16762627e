"""The next point of an adaptive search, from what has been tried: Optuna's tree-structured Parzen estimator
(Bergstra et al. 2011), with all axes together. Points in progress are taken for bad ones, so that those that run at
once differ.

Nothing is stored here. A new study is made from `tried` for each proposal, and the same `tried` gives the same
proposal, whichever process asks.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from engine.sweeps.axes import Axis, Level, RangeAxis, label_of
from engine.sweeps.plan import SweepPlan
from engine.sweeps.points import Point, is_whole, point_at

if TYPE_CHECKING:
    from optuna.distributions import BaseDistribution
    from optuna.trial import FrozenTrial

State = Literal["complete", "pruned", "running", "failed"]
MOST_ASKED = 20  # proposals, until one is new


@dataclass(frozen=True, slots=True, kw_only=True)
class Tried:
    """A point with what became of it. `value` is the mean over its seeds, of a complete one; `by_step` has such means
    during training, of a pruned one."""

    point: Point
    state: State
    value: float | None = None
    by_step: Mapping[int, float] = field(default_factory=dict)


def next_point(plan: SweepPlan, base: Mapping[str, Any], tried: Sequence[Tried]) -> Point | None:
    """A point that is not among `tried`; None if none is found, as when every combination has been tried."""
    known = {one.point.key for one in tried}
    distributions = {axis.name: _distribution(axis, base) for axis in plan.axes}
    history = [_trial(one, plan.axes, distributions) for one in tried if not _is_outside(one.point, plan.axes)]
    for attempt in range(MOST_ASKED):
        values = _ask(distributions, history, seed=plan.sweep_seed * 1_000_003 + len(tried) * MOST_ASKED + attempt)
        point = point_at(plan.axes, [_level(axis, values[axis.name], base) for axis in plan.axes])
        if point.key not in known:
            return point
    return None


def _ask(distributions: Mapping[str, BaseDistribution], history: Sequence[FrozenTrial], *, seed: int) -> dict[str, Any]:
    import optuna  # half a second, so only where a proposal is needed

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    sampler = optuna.samplers.TPESampler(
        seed=seed % 2**32, n_startup_trials=1, multivariate=True, constant_liar=True
    )  # fmt: skip
    study = optuna.create_study(direction="maximize", sampler=sampler)
    study.add_trials(history)
    return study.ask(dict(distributions)).params


def _distribution(axis: Axis, base: Mapping[str, Any]) -> BaseDistribution:
    from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

    if not isinstance(axis, RangeAxis):
        return CategoricalDistribution([level.label for level in axis.levels()])
    log = axis.scale == "log"
    if is_whole(axis, base):
        return IntDistribution(int(axis.low), int(axis.high), log=log)
    return FloatDistribution(axis.low, axis.high, log=log)


def _level(axis: Axis, value: Any, base: Mapping[str, Any]) -> Level:
    if isinstance(axis, RangeAxis):
        rounded = axis.rounded(float(value), whole=is_whole(axis, base))
        return Level(label=label_of(rounded), changes={axis.field: rounded})
    return next(level for level in axis.levels() if level.label == value)


def _trial(one: Tried, axes: Sequence[Axis], distributions: Mapping[str, BaseDistribution]) -> FrozenTrial:
    from optuna.trial import TrialState, create_trial

    states = {
        "complete": TrialState.COMPLETE,
        "pruned": TrialState.PRUNED,
        "running": TrialState.RUNNING,
        "failed": TrialState.FAIL,
    }
    return create_trial(
        state=states[one.state],
        value=one.value if one.state == "complete" else None,
        params={axis.name: _parameter(axis, one.point) for axis in axes},
        distributions=dict(distributions),
        intermediate_values=dict(one.by_step),
    )


def _parameter(axis: Axis, point: Point) -> Any:
    """Rounded values may lie just beyond an end of their range."""
    if isinstance(axis, RangeAxis):
        value = point.changes[axis.field]
        number = value if isinstance(value, int | float) else 0.0
        return min(max(number, axis.low), axis.high)
    return point.labels[axis.name]


def _is_outside(point: Point, axes: Sequence[Axis]) -> bool:
    """Of an axis that it has no value on: values of the plan were changed since."""
    return any(
        axis.field not in point.changes
        if isinstance(axis, RangeAxis)
        else point.labels.get(axis.name) not in [level.label for level in axis.levels()]
        for axis in axes
    )
