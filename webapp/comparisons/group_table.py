"""The last values of the groups of a comparison: the mean over their runs with its band, and over how many."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from engine.statistics.group_bands import group_band
from webapp.comparisons.final_metrics import outcomes
from webapp.comparisons.grouping import Group
from webapp.comparisons.page import View


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupValue:
    """Texts; without `band` there are too few runs for it."""

    mean: str = ""
    band: str = ""
    count: int = 0


def group_rows(view: View, metrics: Sequence[str]) -> list[tuple[Group, list[GroupValue]]]:
    """A row for each group of several runs."""
    groups = [group for group in view.groups if len(group.members) > 1]
    if not groups:
        return []
    columns = [outcomes(view.runs, metric) for metric in metrics]
    return [
        (group, [_value([column[index] for index in group.members], view) for column in columns]) for group in groups
    ]


def _value(values: Sequence[float | None], view: View) -> GroupValue:
    known = [value for value in values if value is not None]
    if not known:
        return GroupValue()
    found = group_band(np.array(known, dtype=np.float64)[:, None], view.band)
    low, high = float(found.low[0]), float(found.high[0])
    band = "" if math.isnan(low) else f"{low:.4g} to {high:.4g}"
    return GroupValue(mean=f"{found.mean[0]:.4g}", band=band, count=len(known))
