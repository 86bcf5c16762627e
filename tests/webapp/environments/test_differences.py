"""Differences between configurations."""

from __future__ import annotations

from webapp.environments.differences import Row, differences, flatten


def test_nested_keys_are_flattened_with_dots_and_dots_in_keys_are_escaped() -> None:
    config = {"a": {"b": 1, "c.d": [1, 2]}, "e": [{"f": "x"}], "g": {}}
    assert flatten(config) == {"a.b": 1, "a.c\\.d": [1, 2], "e.0.f": "x", "g": {}}


def test_differences_are_separate_from_equal_values() -> None:
    found = differences([{"x": 1, "y": "a"}, {"x": 2, "y": "a"}, {"x": 1, "y": "a", "z": None}])
    assert found.differing == [Row(key="x", values=["1", "2", "1"]), Row(key="z", values=[None, None, "null"])]
    assert found.same == [Row(key="y", values=["a", "a", "a"])]


def test_one_and_true_differ() -> None:
    assert [row.key for row in differences([{"x": 1}, {"x": True}]).differing] == ["x"]


def test_a_default_that_only_one_version_writes_out_is_no_difference() -> None:
    left_out = {"kind": "frozen_lake", "parameters": {"size": 5}}
    written = {"kind": "frozen_lake", "parameters": {"size": 6, "success_rate": 1.0}}  # its default
    found = differences([left_out, written])
    assert found.differing == [Row(key="parameters.size", values=["5", "6"])]
    assert Row(key="parameters.success_rate", values=["1.0", "1.0"]) in found.same
    of_runs = differences([{"environments": [left_out]}, {"environments": [written]}])
    assert [row.key for row in of_runs.differing] == ["environments.0.parameters.size"]


def test_a_list_that_is_empty_in_one_version_adds_no_row_of_its_own() -> None:
    found = differences([{"wrappers": []}, {"wrappers": [{"type": "time_limit"}]}])
    assert found.differing == [Row(key="wrappers.0.type", values=[None, "time_limit"])]


def test_the_parameters_of_an_unknown_kind_are_compared_as_they_are() -> None:
    found = differences([{"kind": "gone:Gone", "parameters": {"a": 1}}, {"kind": "gone:Gone", "parameters": {}}])
    assert [row.key for row in found.differing] == ["parameters.a"]
