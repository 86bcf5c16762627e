"""Validates the format of `Environment.drawing()`, on which the viewer relies."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

CELLS = frozenset({"floor", "wall", "hole", "goal", "start", "target", "box", "box_on_target"})
AGENT_STATES = frozenset({"ok", "in_hole", "on_goal", "on_target"})
COLOURS = frozenset({"white", "yellow", "red", "orange", "green", "blue"})
LEVELS = tuple(f"level-{level}" for level in range(1, 9))  # from faint to strong
MARKS = frozenset({"good", "bad", "given", "new"}) | COLOURS | frozenset(LEVELS)
CARD_STATES = frozenset({"normal", "chosen", "good", "bad"})
BLOCK_KINDS = frozenset({"heading", "text", "button", "list", "code"})
BLOCK_STATES = frozenset({"normal", "chosen"})


def drawing_problem(drawing: Any) -> str:
    """Describes what is wrong with `drawing`; empty if nothing is."""
    if not isinstance(drawing, dict):
        return f"it is a {type(drawing).__name__}, not a dict"
    try:
        json.dumps(drawing, allow_nan=False)
    except (TypeError, ValueError) as error:
        return f"it is not JSON: {error}"
    checks = {
        "grid": _grid_problem,
        "arms": _arms_problem,
        "text": _text_problem,
        "table": _table_problem,
        "cards": _cards_problem,
        "page": _page_problem,
    }
    kind = drawing.get("type")
    if kind not in checks:
        return f"its type is {kind!r}; use one of {', '.join(checks)}"
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


def _text_problem(drawing: dict[str, Any]) -> str:
    return "" if isinstance(drawing.get("text"), str) else "the text drawing needs text (text)"


def _table_problem(drawing: dict[str, Any]) -> str:
    """`columns` may be empty: a table without a header. `boxes`, optional, is how many rows and columns lie between
    thicker lines, as in a Sudoku."""
    columns, rows = drawing.get("columns"), drawing.get("rows")
    if not isinstance(columns, list) or not _is_texts(columns):
        return "the table needs columns: a list of texts, empty for a table without a header"
    if not isinstance(rows, list) or not all(_is_texts(row) for row in rows):
        return "the table needs rows: a list of lists of texts"
    width = len(columns) if columns or not rows else len(rows[0])
    uneven = next((index for index, row in enumerate(rows) if len(row) != width), None)
    if uneven is not None:
        return f"row {uneven} of the table has {len(rows[uneven])} cells instead of {width}"
    if "caption" in drawing and not isinstance(drawing["caption"], str):
        return f"the caption {drawing['caption']!r} is not text"
    if "boxes" in drawing and not _is_boxes(drawing["boxes"]):
        return f"boxes are {drawing['boxes']!r}; give [rows, columns], both at least 1"
    return next(_mark_problems(drawing.get("marks", []), len(rows), width), "")


def _mark_problems(marks: Any, rows: int, columns: int) -> Iterator[str]:
    if not isinstance(marks, list):
        yield "marks are not a list of [row, column, mark]"
        return
    for mark in marks:
        if (
            not isinstance(mark, list)
            or len(mark) != 3
            or not _is_index(mark[0], rows)
            or not _is_index(mark[1], columns)
        ):
            yield f"the mark {mark!r} is not [row, column, mark] with a cell of {rows} rows and {columns} columns"
        elif mark[2] not in MARKS:
            yield f"there is no mark {mark[2]!r}; use one of {', '.join(sorted(MARKS))}"


def _cards_problem(drawing: dict[str, Any]) -> str:
    cards = drawing.get("cards")
    if not isinstance(cards, list) or not cards:
        return "it has no cards"
    for card in cards:
        if not isinstance(card, dict) or not all(isinstance(card.get(key), str) for key in ("title", "text")):
            return f"the card {card!r} needs a title and a text"
        if card.get("state") not in CARD_STATES:
            return f"there is no card state {card.get('state')!r}; use one of {', '.join(sorted(CARD_STATES))}"
    return ""


def _page_problem(drawing: dict[str, Any]) -> str:
    blocks = drawing.get("blocks")
    if not isinstance(drawing.get("title"), str) or not isinstance(blocks, list):
        return "the page needs a title (text) and blocks (a list)"
    for block in blocks:
        if not isinstance(block, dict) or block.get("kind") not in BLOCK_KINDS:
            return f"the block {block!r} needs a kind: one of {', '.join(sorted(BLOCK_KINDS))}"
        if not isinstance(block.get("text"), str) and not _is_texts(block.get("text")):
            return f"the block {block!r} needs text: a text, or a list of texts"
        if block.get("state", "normal") not in BLOCK_STATES:
            return f"there is no block state {block['state']!r}; use one of {', '.join(sorted(BLOCK_STATES))}"
    return ""


def _is_texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(one, str) for one in value)


def _is_index(value: Any, size: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < size


def _is_boxes(value: Any) -> bool:
    return isinstance(value, list) and len(value) == 2 and all(_is_index(one, 1000) and one >= 1 for one in value)
