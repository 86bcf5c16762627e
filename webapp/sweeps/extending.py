"""A plan with more training seeds, more values of an axis, or more configurations to draw."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from engine.sweeps.axes import RangeAxis, SettingsAxis
from engine.sweeps.plan import SweepPlan


def extended(
    plan: SweepPlan,
    *,
    seeds: Sequence[int] = (),
    values: Mapping[str, Sequence[Any]] | None = None,
    points: int | None = None,
) -> dict[str, Any]:
    """The data of the larger plan; `ValueError` for axes that cannot take more values."""
    data = plan.model_dump()
    data["seeds"] = [*plan.seeds, *(seed for seed in seeds if seed not in plan.seeds)]
    data["points"] = max(points or plan.points, plan.points)
    axes = {axis.name: (axis, one) for axis, one in zip(plan.axes, data["axes"], strict=True)}
    for name, more in (values or {}).items():
        if name not in axes:
            raise ValueError(f"values: there is no axis {name[:60]!r}. The axes are {', '.join(axes) or 'none'}.")
        axis, one = axes[name]
        if plan.method != "grid" or isinstance(axis, RangeAxis):
            raise ValueError("values: only the axes of a grid take more. Send points to draw more configurations.")
        part = "settings" if isinstance(axis, SettingsAxis) else "values"
        one[part] = [*one[part], *more]
    return data
