"""Differences between configurations."""

from __future__ import annotations

from tests.hostile import STORABLE
from webapp.environments.differences import Row, differences, flatten
from webapp.environments.templatetags.visible_text import visible


def test_nested_keys_are_flattened_with_dots_and_dots_in_keys_are_escaped() -> None:
    config = {"a": {"b": 1, "c.d": [1, 2]}, "e": [{"f": "x"}], "g": {}}
    assert flatten(config) == {"a.b": 1, "a.c\\.d": [1, 2], "e.0.f": "x", "g": {}}


def test_differences_are_separate_from_equal_values() -> None:
    found = differences([{"x": 1, "y": "a"}, {"x": 2, "y": "a"}, {"x": 1, "y": "a", "z": None}])
    assert found.differing == [Row(key="x", values=["1", "2", "1"]), Row(key="z", values=[None, None, "null"])]
    assert found.same == [Row(key="y", values=["a", "a", "a"])]


def test_one_and_true_differ() -> None:
    assert [row.key for row in differences([{"x": 1}, {"x": True}]).differing] == ["x"]


def test_invisible_characters_are_named_and_everything_else_is_kept() -> None:
    assert visible("a\u202eb\x00c\u200bé√\n") == "a[U+202E]b[U+0000]c[U+200B]é√\n"


def test_no_hostile_text_keeps_an_invisible_character() -> None:
    for text in STORABLE:
        assert not {"\u202e", "\u200b", "\x1b", "\ufeff", "\u2066"} & set(visible(text))
