"""The formats of drawings: what the viewer accepts, and how each mistake is described."""

from __future__ import annotations

from typing import Any

import pytest

from engine.environments.drawing_format import drawing_problem

TEXT: dict[str, Any] = {"type": "text", "text": "Goal: reach 24."}
TABLE: dict[str, Any] = {
    "type": "table",
    "columns": ["a", "b"],
    "rows": [["1", "2"], ["3", ""]],
    "caption": "A small table",
    "marks": [[1, 0, "given"], [1, 1, "new"]],
    "boxes": [2, 2],
}
CARDS: dict[str, Any] = {"type": "cards", "cards": [{"title": "left", "text": "pays 1", "state": "chosen"}]}
PAGE: dict[str, Any] = {
    "type": "page",
    "title": "Results",
    "blocks": [
        {"kind": "heading", "text": "Page 1"},
        {"kind": "button", "text": ["Next >", "Back"], "state": "chosen"},
        {"kind": "list", "text": ["one", "two"]},
        {"kind": "code", "text": "print(1)"},
    ],
}


@pytest.mark.parametrize("drawing", [TEXT, TABLE, CARDS, PAGE], ids=lambda drawing: drawing["type"])
def test_every_format_of_text_is_accepted(drawing: dict[str, Any]) -> None:
    assert drawing_problem(drawing) == ""


def test_a_table_may_have_no_header_and_no_rows() -> None:
    assert drawing_problem({"type": "table", "columns": [], "rows": [["1", "2"], ["3", "4"]]}) == ""
    assert drawing_problem({"type": "table", "columns": ["a"], "rows": []}) == ""


@pytest.mark.parametrize(
    ("drawing", "problem"),
    [
        ({"type": "cube"}, "its type is 'cube'; use one of grid, arms, text, table, cards, page"),
        ({"type": "text", "text": 7}, "needs text"),
        ({**TABLE, "columns": ["a", 2]}, "needs columns"),
        ({**TABLE, "rows": [["1", "2"], ["3"]]}, "row 1 of the table has 1 cells instead of 2"),
        ({**TABLE, "columns": [], "rows": [["1"], ["3", "4"]]}, "row 1 of the table has 2 cells instead of 1"),
        ({**TABLE, "rows": [["1", 2]]}, "needs rows"),
        ({**TABLE, "caption": None}, "caption None is not text"),
        ({**TABLE, "marks": [[2, 0, "good"]]}, "with a cell of 2 rows and 2 columns"),
        ({**TABLE, "marks": [[0, True, "good"]]}, "with a cell of 2 rows and 2 columns"),
        ({**TABLE, "marks": [[0, 0, "great"]]}, "no mark 'great'"),
        ({**TABLE, "marks": "all"}, "marks are not a list"),
        ({**TABLE, "boxes": [0, 3]}, "both at least 1"),
        ({"type": "cards", "cards": []}, "it has no cards"),
        ({"type": "cards", "cards": [{"title": "left", "text": None, "state": "normal"}]}, "needs a title and a text"),
        ({"type": "cards", "cards": [{"title": "left", "text": "", "state": "won"}]}, "no card state 'won'"),
        ({"type": "page", "blocks": []}, "needs a title"),
        ({**PAGE, "blocks": [{"kind": "image", "text": ""}]}, "needs a kind"),
        ({**PAGE, "blocks": [{"kind": "list", "text": [1]}]}, "needs text: a text, or a list of texts"),
        ({**PAGE, "blocks": [{"kind": "text", "text": "", "state": "good"}]}, "no block state 'good'"),
    ],
)
def test_a_mistake_is_described(drawing: dict[str, Any], problem: str) -> None:
    assert problem in drawing_problem(drawing)
