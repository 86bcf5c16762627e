"""The last, lowest and highest value of each metric of a run, kept up as steps arrive."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from webapp.runs.models import MetricName, Run

LONGEST_NAME = 300  # of a metric that pages list; a longer one is only in its steps
INSERT_BATCH = 500


@dataclass(slots=True)
class Range:
    last: float
    lowest: float
    highest: float


Ranges = dict[str, Range]
Steps = Iterable[Mapping[str, float | None]]


def ranges_of(run: Run) -> Ranges:
    """As stored. A metric that never had a finite value has none."""
    rows = run.metric_names.values_list("name", "last", "lowest", "highest")
    return {
        name: Range(last, lowest, highest)
        for name, last, lowest, highest in rows
        if last is not None and lowest is not None and highest is not None
    }


def extended(known: Ranges, steps: Steps) -> Ranges:
    """New ranges of the metrics that `steps` have, in the order of the steps."""
    found: Ranges = {}
    for metrics in steps:
        for name, value in metrics.items():
            if value is None or not math.isfinite(value):
                continue
            before = found.get(name)
            if before is not None:
                before.last = value
                if value < before.lowest:
                    before.lowest = value
                elif value > before.highest:
                    before.highest = value
            elif (earlier := known.get(name)) is not None:
                found[name] = Range(value, min(value, earlier.lowest), max(value, earlier.highest))
            else:
                found[name] = Range(value, value, value)
    return found


def save_ranges(run: Run, ranges: Ranges, names: Iterable[str] = ()) -> None:
    """Writes `ranges`, and a row without values for each of `names` that has none yet."""
    bare = [MetricName(run=run, name=name) for name in sorted(set(names) - ranges.keys()) if len(name) <= LONGEST_NAME]
    MetricName.objects.bulk_create(bare, INSERT_BATCH, ignore_conflicts=True)
    rows = [
        MetricName(run=run, name=name, last=one.last, lowest=one.lowest, highest=one.highest)
        for name, one in sorted(ranges.items())
        if len(name) <= LONGEST_NAME
    ]
    MetricName.objects.bulk_create(
        rows,
        INSERT_BATCH,
        update_conflicts=True,
        unique_fields=["run", "name"],
        update_fields=["last", "lowest", "highest"],
    )


def measure_again(run: Run) -> Ranges:
    """Reads the steps that count, after some were taken back, and writes the ranges of those."""
    MetricName.objects.filter(run=run).update(last=None, lowest=None, highest=None)
    steps = run.steps.order_by("step").values_list("metrics", flat=True)
    ranges = extended({}, steps.iterator())
    save_ranges(run, ranges)
    return ranges
