"""The overview's curves as SVG paths within the page: a browser shows them before it has loaded any script.

Scripts replace each preview by the interactive chart of the same metrics, at the same position, with the same
smoothing, so that the curve stays where it is.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from engine.metrics import OVERVIEW, Chart, describe
from webapp.live.bands import MetricBands, metric_bands
from webapp.runs.models import Run

POINTS = 120  # a curve; more are not seen at the width of a chart
SIZE = 1000  # units of the drawing's sides
SMOOTHING = 0.6  # weight of the average so far, which the page's slider starts with


@dataclass(frozen=True, slots=True, kw_only=True)
class Curve:
    """`path` is the data of an SVG path in a square of `SIZE` units; `index` is that of its colour, from 1."""

    title: str
    path: str
    index: int
    last: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ChartPreview:
    """`key` is the metric that names the chart; `low` and `high` label the ends of its vertical axis."""

    key: str
    title: str
    last: str = ""
    low: str = ""
    high: str = ""
    first_step: int = 0
    last_step: int = 0
    curves: list[Curve] = field(default_factory=list)


def chart_previews(run: Run) -> list[ChartPreview]:
    """One for each chart of the overview, in order; without curves where none of its metrics has a value yet."""
    names = [name for chart in OVERVIEW for name in chart.names]
    bands = metric_bands(run, names, POINTS)
    return [_preview(chart, bands) for chart in OVERVIEW]


def smoothed(values: Sequence[float], weight: float = SMOOTHING) -> list[float]:
    """Exponential moving average without bias at its start, as `static/js/charts/smoothing.js` has it.

    With a weight of 0.5, [1, 4] becomes [1, 3]: the second is (0.5 * 0.5 * 1 + 0.5 * 4) / 0.75.
    """
    mean = mass = 0.0
    found = []
    for value in values:
        mass = weight * mass + (1 - weight)
        mean += (1 - weight) / mass * (value - mean)
        found.append(mean)
    return found


def _preview(chart: Chart, bands: MetricBands) -> ChartPreview:
    key, title = chart.names[0], chart.title or describe(chart.names[0]).title
    is_log = all(describe(name).log for name in chart.names)
    points = {name: _points(bands, name, is_log=is_log) for name in chart.names}
    drawn = {name: found for name, found in points.items() if found}
    if not drawn:
        return ChartPreview(key=key, title=title)
    steps = [step for found in drawn.values() for step, _ in found]
    low, high = _range(chart, [value for found in drawn.values() for _, value in found], is_log=is_log)
    first, last = min(steps), max(steps)
    return ChartPreview(
        key=key,
        title=title,
        last=_label(next(iter(drawn.values()))[-1][1]),
        low=_label(low),
        high=_label(high),
        first_step=first,
        last_step=last,
        curves=[
            Curve(
                title=describe(name).title,
                path=path_of(drawn[name], x_range=(first, last), y_range=(low, high), is_log=is_log),
                index=chart.names.index(name) + 1,
                last=_label(drawn[name][-1][1]),
            )
            for name in drawn
        ],
    )


def path_of(
    points: Sequence[tuple[int, float]],
    *,
    x_range: tuple[float, float],
    y_range: tuple[float, float],
    is_log: bool = False,
) -> str:
    """The path of (step, value) pairs.

    With steps from 0 to 10 and values from 0 to 1, (5, 1.0) is 500 of 1000 from the left and 0 from the top. On a
    logarithmic axis only positive values are drawn, and `y_range` is positive.
    """

    def scaled(value: float, low: float, high: float) -> float:
        return SIZE * (value - low) / (high - low) if high > low else SIZE / 2

    if is_log:
        points = [(step, math.log10(value)) for step, value in points if value > 0]
        y_range = (math.log10(y_range[0]), math.log10(y_range[1]))
    corners = [f"{scaled(step, *x_range):.0f} {SIZE - scaled(value, *y_range):.0f}" for step, value in points]
    return f"M{'L'.join(corners)}" if len(corners) > 1 else f"M{corners[0]}h1" if corners else ""


def _points(bands: MetricBands, name: str, *, is_log: bool) -> list[tuple[int, float]]:
    """What is not drawn on a logarithmic axis is not smoothed either."""
    means = bands["series"][name]["mean"]
    known = [
        (step, value)
        for step, value in zip(bands["steps"], means, strict=True)
        if value is not None and (value > 0 or not is_log)
    ]
    return list(zip((step for step, _ in known), smoothed([value for _, value in known]), strict=True))


def _range(chart: Chart, values: list[float], *, is_log: bool) -> tuple[float, float]:
    """The bounds of the metrics where all have both; else those of the values, from 0 where they cannot be lower."""
    if is_log:
        positive = [value for value in values if value > 0] or [1.0]
        return min(positive), max(positive)
    metrics = [describe(name) for name in chart.names]
    lows = [metric.low for metric in metrics if metric.low is not None]
    highs = [metric.high for metric in metrics if metric.high is not None]
    if len(lows) == len(highs) == len(metrics):
        return min(lows), max(highs)
    from_zero = all(metric.low == 0 or metric.unit == "share" for metric in metrics)
    low = min([*values, 0.0]) if from_zero else min(values)
    high = max([*values, *highs])
    return (low, high) if high > low else (low - 0.5, high + 0.5)


def _label(value: float) -> str:
    return f"{value:.3g}"
