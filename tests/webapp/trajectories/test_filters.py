"""Filters come from the URL; an invalid value is ignored and reported."""

from __future__ import annotations

import pytest

from tests.hostile import STORABLE
from webapp.runs.models import Alert, Run
from webapp.trajectories.filters import NAMES, read_filters
from webapp.trajectories.models import Trajectory
from webapp.trajectories.scope import OneRun


@pytest.mark.parametrize(
    ("query", "matches"),
    [
        ({"step": "2"}, lambda row: row.step == 2),
        ({"step_low": "2"}, lambda row: row.step >= 2),
        ({"step_high": "1"}, lambda row: row.step <= 1),
        ({"step_low": "1", "step_high": "2", "seed": "0"}, lambda row: row.seed == 0),
        ({"split": "train"}, lambda row: row.split == "train"),
        ({"split": "validation"}, lambda row: False),
        ({"success": "yes"}, lambda row: row.success),
        ({"success": "no"}, lambda row: not row.success),
        ({"low": "0.5"}, lambda row: row.episode_return >= 0.5),
        ({"high": "0.5"}, lambda row: row.episode_return <= 0.5),
        ({"kept": "kept"}, lambda row: row.kept is True),
        ({"kept": "dropped"}, lambda row: row.kept is False),
        ({"kept": "undecided"}, lambda row: row.kept is None),
        ({"parse": "failed"}, lambda row: row.parse_failures > 0),
        ({"parse": "ok"}, lambda row: row.parse_failures == 0),
        ({"stop": "terminated"}, lambda row: row.stop == "terminated"),
        ({"seed": "0"}, lambda row: row.seed == 0),
        ({"adv_low": "0.5"}, lambda row: row.advantage >= 0.5),
        ({"adv_high": "-0.5"}, lambda row: row.advantage <= -0.5),
        ({"turns_low": "3"}, lambda row: row.turns >= 3),
        ({"turns_high": "2"}, lambda row: row.turns <= 2),
        ({"tokens_low": "30"}, lambda row: row.response_tokens >= 30),
        ({"tokens_high": "30"}, lambda row: row.response_tokens <= 30),
        ({"alert": "entropy"}, lambda row: row.step == 2),
        ({"alert": "any"}, lambda row: row.step == 2),
        ({"alert": "of another rule"}, lambda row: False),
        ({"environment": "FrozenLake", "step": "1", "success": "yes"}, lambda row: row.step == 1 and row.success),
    ],
)
def test_each_filter_keeps_the_matching_rows(
    run: Run, rows: list[Trajectory], query: dict[str, str], matches: object
) -> None:
    Alert.objects.create(run=run, seq=1, step=2, time=1.0, rule="entropy", severity="warn", message="")
    for filters in (read_filters(query), read_filters(query, run_id=run.pk)):
        found = set(filters.apply(Trajectory.objects.filter(run=run)).values_list("pk", flat=True))
        assert found == {row.pk for row in rows if matches(row)}  # type: ignore[operator]
        assert filters.problems == []


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("step", "-1"),
        ("step", "9" * 30),
        ("step", "²"),
        ("low", "nan"),
        ("high", "1e999"),
        ("split", "test"),
        ("kept", "x"),
        ("success", "1"),
        ("seed", "9" * 5000),
        ("tokens_low", "1.5"),
        ("adv_high", "inf"),
    ],
)
def test_an_invalid_value_is_ignored_and_reported(name: str, value: str) -> None:
    filters = read_filters({name: value})
    assert not filters.active
    assert repr(value) in filters.problems[0]


@pytest.mark.parametrize("name", NAMES)
def test_hostile_values_match_nothing_or_are_ignored(run: Run, rows: list[Trajectory], name: str) -> None:
    for text in STORABLE:
        filters = read_filters({name: text})
        assert filters.problems or not filters.apply(Trajectory.objects.filter(run=run)).exists()


def test_links_keep_the_filters_and_escape_them() -> None:
    filters = read_filters({"stop": "a&b=<c>", "step": "2"})
    assert filters.query(after="x", sort="") == "step=2&stop=a%26b%3D%3Cc%3E&after=x"


@pytest.mark.parametrize(
    ("query", "found"), [({}, [1]), ({"superseded": "only"}, [2]), ({"superseded": "include"}, [1, 2])]
)
def test_superseded_trajectories_are_listed_on_request(
    run: Run, rows: list[Trajectory], query: dict[str, str], found: list[int]
) -> None:
    Trajectory.objects.filter(run=run).exclude(step=1).update(superseded=True)
    shown = read_filters(query, run_id=run.pk).apply(OneRun(run).rows())
    assert sorted(set(shown.values_list("step", flat=True)) & {1, 2}) == found
