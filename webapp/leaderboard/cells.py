"""Rows as text: what the page, and downloads for people, show of each column."""

from __future__ import annotations

from dataclasses import dataclass

from engine.statistics.means import without_interval
from engine.statistics.measures import Estimate
from webapp.leaderboard.columns import Column
from webapp.leaderboard.rows import Row
from webapp.leaderboard.standings import Delta

UNKNOWN = "–"
NEVER = "not reached"
LARGE = 100  # numbers above have no decimals


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """A value, and its interval, which is empty where there is none."""

    text: str
    interval: str = ""
    title: str = ""
    warns: bool = False


def cell(row: Row, column: Column) -> Cell:
    found = row.estimate(column)
    if found is None:
        if column.key in ("half", "half_hours") and row.entry.half_known and row.seeds == 1:
            return Cell(text=NEVER, title="No evaluation of the run reached 50% success.")
        return Cell(text=UNKNOWN, title="Not known")
    unit = "" if column.unit != "hours" else row.entry.device
    is_known = found.low is not None and found.high is not None and column.key != "seen"
    interval = _range(found, column) if is_known else ""
    over = "training seeds" if row.seeds > 1 else "problems"
    equal = f"{without_interval(row.seeds, 'training seed')}, which gives no interval" if row.seeds > 1 else ""
    return Cell(
        text=" ".join(filter(None, (shown(found.value, column), unit))),
        interval=interval,
        title=f"95% interval over {over}" if interval else equal if found.low is None else "",
        warns=column.key == "seen" and found.value > 0,
    )


def shown(value: float, column: Column) -> str:
    if column.unit == "share":
        return f"{value * 100:.1f}%"
    if column.unit == "count":
        return f"{round(value):,}"
    if column.unit == "hours":
        return f"{value:.2f}" if value < LARGE else f"{value:,.0f}"
    return f"{value:,.0f}" if abs(value) >= LARGE else f"{value:.2f}"


def signed(difference: float, column: Column) -> str:
    """A difference; of shares in percentage points. Example: `+5.1`."""
    if column.unit == "share":
        return f"{difference * 100:+.1f}"
    return f"{difference:+,.0f}" if abs(difference) >= LARGE else f"{difference:+.2f}"


def delta_title(delta: Delta, column: Column) -> str:
    """What a difference stands on. Example: `+5.1 points, 95% interval +0.3 to +9.7, adjusted p = 0.047, on 256
    problems: 25 solved more often, 12 less often`."""
    low, high = signed(delta.low, column), signed(delta.high, column)
    interval = f"95% interval {low} to {high}, adjusted p {p_text(delta.p)}"
    difference = f"{signed(delta.difference, column)} {unit_of(column)}"
    if not delta.shared:
        return f"{difference}, {interval}, by Welch's test over training seeds"
    more, less = ("solved more often", "less often") if column.key == "success" else ("have more", "less")
    return f"{difference}, {interval}, on {delta.shared} problems: {delta.ahead} {more}, {delta.behind} {less}"


def unit_of(column: Column) -> str:
    """Of a difference. Example: `points`, or `tokens`."""
    return "points" if column.unit == "share" else column.title.lower()


def p_text(p: float) -> str:
    return "< 0.001" if p < 0.001 else f"= {p:.3f}"


def _range(found: Estimate, column: Column) -> str:
    low, high = (shown(end, column) for end in (found.low or 0.0, found.high or 0.0))
    return f"{low.removesuffix('%')}–{high}"
