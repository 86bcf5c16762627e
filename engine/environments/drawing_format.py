"""Validates the format of `Environment.drawing()`, on which the viewer relies."""

from __future__ import annotations

import json
from typing import Any

CELLS = frozenset({"floor", "wall", "hole", "goal", "start", "target", "box", "box_on_target"})
AGENT_STATES = frozenset({"ok", "in_hole", "on_goal", "on_target"})


def drawing_problem(drawing: Any) -> str:
    """Describes what is wrong with `drawing`; empty if nothing is."""
    if not isinstance(drawing, dict):
        return f"it is a {type(drawing).__name__}, not a dict"
    try:
        json.dumps(drawing, allow_nan=False)
    except (TypeError, ValueError) as error:
        return f"it is not JSON: {error}"
    checks = {"grid": _grid_problem, "arms": _arms_problem}
    kind = drawing.get("type")
    if kind not in checks:
        return f"its type is {kind!r}; use grid or arms"
    return checks[kind](drawing)


def _grid_problem(drawing: dict[str, Any]) -> str:
    missing = {"rows", "columns", "cells", "agent", "agent_state"} - set(drawing)
    if missing:
        return f"the grid has no {', '.join(sorted(missing))}"
    rows, columns, cells = drawing["rows"], drawing["columns"], drawing["cells"]
    if len(cells) != rows or any(len(row) != columns for row in cells):
        return f"cells are not {rows} rows of {columns}"
    unknown = sorted({cell for row in cells for cell in row} - CELLS)
    if unknown:
        return f"there is no cell {unknown[0]!r}; the cells are {', '.join(sorted(CELLS))}"
    if drawing["agent_state"] not in AGENT_STATES:
        return f"there is no agent_state {drawing['agent_state']!r}; use one of {', '.join(sorted(AGENT_STATES))}"
    row, column = drawing["agent"]
    return "" if 0 <= row < rows and 0 <= column < columns else f"the agent at {row}, {column} is outside the grid"


def _arms_problem(drawing: dict[str, Any]) -> str:
    for arm in drawing.get("arms", []):
        if not isinstance(arm.get("name"), str) or not isinstance(arm.get("pulled"), bool):
            return f"the arm {arm!r} needs a name (text) and pulled (bool)"
        if "reward" not in arm or not isinstance(arm["reward"], float | int | None):
            return f"the arm {arm['name']!r} needs a reward: a number, or null before it is pulled"
    return "" if drawing.get("arms") else "it has no arms"
