"""Charts of a report: as SVG, for exported files and pages without scripts, and as numbers, from which a page draws the
same charts with zoom and hover."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypedDict

from engine.metrics import describe
from webapp.comparisons.group_curves import GroupCurve

WIDTH, HEIGHT = 576, 280  # as in the template
LEFT, RIGHT, TOP, BOTTOM = 62, 28, 10, 40  # to the right half of the last label
TICKS = 5
LEAST = 1e-300  # on a logarithmic axis
DIGITS = 7
AXES = {"step": "step", "tokens": "tokens", "seconds": "training time, s", "elapsed": "time since start, s"}

Point = tuple[float, float]
Axis = Callable[[float], float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """`value` is the last of it, as text."""

    name: str
    colour: int
    dash: int
    path: str
    rest: str  # beyond the end of a run of a group
    band: str
    value: str


class FigureLine(TypedDict):
    """Columns of equal length, those of a band empty where there is none. The first `whole` points are those before a
    run of a group has ended."""

    name: str
    colour: int
    dash: int
    x: list[float]
    mean: list[float]
    low: list[float | None]
    high: list[float | None]
    whole: int


class Figure(TypedDict):
    """`across` and `up` are the ends of the axes; of a logarithmic one their logarithms."""

    title: str
    axis: str
    log: bool
    across: tuple[float, float]
    up: tuple[float, float]
    lines: list[FigureLine]


@dataclass(frozen=True, slots=True, kw_only=True)
class LineChart:
    """Ticks are `(position, text)`."""

    title: str
    name: str
    lines: list[Line]
    across: list[tuple[float, str]]
    up: list[tuple[float, str]]
    axis: str
    log: bool
    left_out: int  # values that a logarithmic axis does not have
    figure: Figure

    @property
    def is_empty(self) -> bool:
        return not any(line.path or line.rest for line in self.lines)


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawn:
    """What a line is drawn from. The curve of a group has a mean where some of its runs have ended as well."""

    name: str
    colour: int
    dash: int
    curve: GroupCurve


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    axis: str = "step"
    smoothing: float = 0.6
    log: bool = False
    window: tuple[float, float] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Columns:
    xs: list[float]
    mean: list[float]
    low: list[float | None]
    high: list[float | None]
    whole: list[bool]


def line_chart(metric: str, drawn: Sequence[Drawn], look: Look) -> LineChart:
    entry = describe(metric)
    columns = [_columns(one.curve, look) for one in drawn]
    shown = [value for one in columns for value in _values(one)]
    kept = [value for value in shown if not look.log or value > LEAST]
    xs = [x for one in columns for x in one.xs]
    x0, x1 = look.window or _ends(xs)
    low, high = _range(kept, entry.low, entry.high, look.log)

    def at_x(value: float) -> float:
        return round(LEFT + (WIDTH - LEFT - RIGHT) * (value - x0) / (x1 - x0), 1)

    def at_y(value: float) -> float:
        scaled = math.log10(max(value, LEAST)) if look.log else value
        return round(TOP + (HEIGHT - TOP - BOTTOM) * (high - scaled) / (high - low), 1)

    return LineChart(
        title=entry.title,
        name=metric,
        lines=[_line(one, columns[index], at_x, at_y, look) for index, one in enumerate(drawn)],
        across=[(at_x(value), _text(value)) for value in ticks(x0, x1)],
        up=[(at_y(value), _text(value)) for value in (log_ticks(low, high) if look.log else ticks(low, high))],
        axis=AXES[look.axis],
        log=look.log,
        left_out=len(shown) - len(kept),
        figure=Figure(
            title=entry.title,
            axis=AXES[look.axis],
            log=look.log,
            across=(x0, x1),
            up=(low, high),
            lines=[_figure_line(one, columns[index]) for index, one in enumerate(drawn)],
        ),
    )


def _figure_line(one: Drawn, columns: _Columns) -> FigureLine:
    has_band = any(value is not None for value in columns.low)
    return FigureLine(
        name=one.name,
        colour=one.colour,
        dash=one.dash,
        x=[_short(value) for value in columns.xs],
        mean=[_short(value) for value in columns.mean],
        low=[None if value is None else _short(value) for value in columns.low] if has_band else [],
        high=[None if value is None else _short(value) for value in columns.high] if has_band else [],
        whole=max((index + 1 for index, whole in enumerate(columns.whole) if whole), default=0),
    )


def _short(value: float) -> float:
    """As many digits as a chart can show."""
    return float(f"{value:.{DIGITS}g}")


def ticks(low: float, high: float, count: int = TICKS) -> list[float]:
    """About `count` round numbers from `low` to `high`: 1, 2 or 5 times a power of ten apart."""
    raw = (high - low) / count
    power = 10 ** math.floor(math.log10(raw))
    every = next((factor * power for factor in (1, 2, 5) if factor * power >= raw), 10 * power)
    first, last = math.ceil(low / every - 1e-9), math.floor(high / every + 1e-9)
    return [index * every for index in range(first, last + 1)]


def log_ticks(low: float, high: float) -> list[float]:
    """Between 10^low and 10^high powers of ten, of few of them with 2 and 5 times each, or round numbers."""
    decades = range(math.floor(low), math.ceil(high) + 1)
    for factors in ((1,), (1, 2, 5), (1, 2, 3, 4, 5, 6, 7, 8, 9)):
        found = [factor * 10.0**power for power in decades for factor in factors]
        inside = [value for value in found if low - 1e-9 <= math.log10(value) <= high + 1e-9]
        if len(inside) >= 3:
            return inside[:: math.ceil(len(inside) / (TICKS + 3))]
    return [value for value in ticks(10**low, 10**high) if value > 0]


def smoothed(values: Sequence[float], weight: float) -> list[float]:
    """An exponential moving average with its start corrected, as `static/js/charts/smoothing.js` has it."""
    mean = mass = 0.0
    found = []
    for value in values:
        mass = weight * mass + (1 - weight)
        mean += (1 - weight) / mass * (value - mean)
        found.append(mean)
    return found


def _columns(curve: GroupCurve, look: Look) -> _Columns:
    """Points with a value on the axis, smoothed; a sparse curve, as of held-out results, is not smoothed."""
    positions: Mapping[str, Sequence[float | None]] = {name: curve[name] for name in AXES if name != "step"}  # type: ignore[literal-required]
    xs = curve["steps"] if look.axis == "step" else positions[look.axis]
    most = max(curve["count"], default=0)
    rows = [
        (float(x), mean, curve["low"][i], curve["high"][i], curve["count"][i] == most)
        for i, (x, mean) in enumerate(zip(xs, curve["mean"], strict=True))
        if x is not None and mean is not None
    ]
    sparse = len(curve["steps"]) > 1 and curve["steps"][1] - curve["steps"][0] > 1
    weight = 0.0 if sparse else look.smoothing
    bounds = [
        [_known(row[column], row[1]) for row in rows] if any(row[column] is not None for row in rows) else None
        for column in (2, 3)
    ]
    low, high = (smoothed(one, weight) if one else None for one in bounds)
    missing: list[float | None] = [None] * len(rows)
    return _Columns(
        xs=[row[0] for row in rows],
        mean=smoothed([row[1] for row in rows], weight),
        low=[value if row[2] is not None else None for value, row in zip(low, rows, strict=True)] if low else missing,
        high=[value if row[3] is not None else None for value, row in zip(high, rows, strict=True)]
        if high
        else missing,
        whole=[row[4] for row in rows],
    )


def _known(bound: float | bool | None, mean: float) -> float:
    return mean if bound is None else float(bound)


def _line(one: Drawn, columns: _Columns, x: Axis, y: Axis, look: Look) -> Line:
    inside = [
        index
        for index, position in enumerate(columns.xs)
        if (look.window is None or look.window[0] <= position <= look.window[1])
        and (not look.log or columns.mean[index] > LEAST)
    ]
    end = max((index for index in inside if columns.whole[index]), default=-1)
    whole = [(x(columns.xs[i]), y(columns.mean[i])) for i in inside if i <= end]
    rest = [(x(columns.xs[i]), y(columns.mean[i])) for i in inside if i >= end] if inside and inside[-1] > end else []
    edges = [(x(columns.xs[i]), columns.low[i], columns.high[i]) for i in inside if i <= end]
    upper = [(across, y(high)) for across, low, high in edges if low is not None and high is not None]
    lower = [(across, y(low)) for across, low, high in reversed(edges) if low is not None and high is not None]
    return Line(
        name=one.name,
        colour=one.colour,
        dash=one.dash,
        path=_path(whole),
        rest=_path(rest),
        band=f"{_path([*upper, *lower])}Z" if upper else "",
        value=_text(columns.mean[-1]) if columns.mean else "no values",
    )


def _path(points: Sequence[Point]) -> str:
    return "M" + " L".join(f"{x:g},{y:g}" for x, y in points) if points else ""


def _values(columns: _Columns) -> list[float]:
    return [*columns.mean, *(value for one in (columns.low, columns.high) for value in one if value is not None)]


def _ends(xs: Sequence[float]) -> tuple[float, float]:
    low, high = min(xs, default=0.0), max(xs, default=1.0)
    return (low, high) if high > low else (low - 0.5, low + 0.5)


def _range(values: Sequence[float], low: float | None, high: float | None, log: bool) -> tuple[float, float]:
    """Of the axis: from what the metric's meaning says, or around the values. Logarithms on a logarithmic axis."""
    if log:
        found = [math.log10(value) for value in values] or [0.0, 1.0]
        return (min(found), max(found)) if max(found) > min(found) else (min(found) - 0.5, min(found) + 0.5)
    least, most = min(values, default=0.0), max(values, default=1.0)
    if low is not None and high is not None:
        return min(low, least), max(high, most)
    room = 0.05 * (most - least) or 0.05 * abs(most) or 0.5
    return (min(low, least) if low is not None else least - room), most + room


def _text(value: float) -> str:
    return f"{value:.4g}"
