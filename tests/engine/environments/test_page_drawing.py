"""Pages are built of parts, and empty parts leave nothing."""

from __future__ import annotations

from engine.environments import page_drawing as draw
from engine.environments.drawing_format import drawing_problem


def test_a_page_has_its_parts_in_order_and_a_heading_only_above_something() -> None:
    drawing = draw.page(
        "Task",
        draw.text("Add two numbers."),
        draw.code(""),
        draw.section("Answer", draw.code("print(3)"), draw.text("")),
        draw.section("Tests", draw.listed([])),
        draw.listed(["1: passed"]),
    )
    assert drawing_problem(drawing) == ""
    assert drawing["blocks"] == [
        {"kind": "text", "text": "Add two numbers."},
        {"kind": "heading", "text": "Answer"},
        {"kind": "code", "text": "print(3)"},
        {"kind": "list", "text": ["1: passed"]},
    ]


def test_long_text_is_cut_and_says_how_long_it_was() -> None:
    assert draw.shortened(" abc ", 3) == "abc"
    assert draw.shortened("abcd", 3) == "abc... (4 characters)"
