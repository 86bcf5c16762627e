"""The numbers of an evaluation as a table for a terminal."""

from __future__ import annotations

from collections.abc import Callable

from engine.suites.suite import Suite
from engine.suites.summary import ItemSummary, SuiteSummary

COLUMNS: dict[str, Callable[[ItemSummary], str]] = {
    "item": lambda item: item.item,
    "success": lambda item: _number(item.success),
    "95% interval": lambda item: f"{_number(item.low)} to {_number(item.high)}",
    "problems": lambda item: str(item.problems),
    "episodes": lambda item: str(item.played),
    "not scored": lambda item: str(item.played - item.scored),
    "seen in training": lambda item: "unknown" if item.trained_on is None else str(item.trained_on),
    "return": lambda item: _number(item.mean_return),
    "turns": lambda item: _number(item.mean_turns, digits=2),
    "tokens": lambda item: f"{item.tokens:,}" if item.tokens is not None else "unknown",
    "malformed": lambda item: f"{item.malformed} of {item.responses}",
}


def table(suite: Suite, model: str, summary: SuiteSummary) -> str:
    columns = dict(COLUMNS)
    most = max(item.samples for item in suite.items)
    if most > 1:
        columns[f"pass@{most}"] = lambda item: _number(item.pass_at.get(str(most)))
        columns[f"pass^{most}"] = lambda item: _number(item.pass_all.get(str(most)))
    rows = [list(columns), *([cell(item) for cell in columns.values()] for item in summary.items)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(columns))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    lines.insert(1, "  ".join("-" * width for width in widths))
    if len(suite.items) > 1:
        lines.append(
            f"Mean of the items: {_number(summary.success)}, {_number(summary.low)} to {_number(summary.high)}."
        )
    methods = dict.fromkeys(item.interval for item in summary.items if item.interval)
    return "\n".join([f"{suite.label}: {model}", *lines, *(f"Interval: {method}." for method in methods)])


def _number(value: float | None, *, digits: int = 3) -> str:
    return "-" if value is None else f"{value:.{digits}f}"
