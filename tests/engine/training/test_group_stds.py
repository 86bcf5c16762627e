"""The standard deviation of returns within groups, by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest

from engine.rollout.types import Trajectory
from engine.training.rollout_metrics import group_stds, rollout_metrics, score_std
from tests.engine.rollout.builders import lake_config, say


def groups_of(*groups: list[float]) -> list[Trajectory]:
    """Trajectories of one turn, whose returns are given by group."""
    one = say(lake_config(rollout={"groups": 1, "group_size": 2}), ["go"])[0]
    return [
        replace(one, group=group, member=member, turns=[replace(one.turns[0], reward=value, penalty=0.0)])
        for group, values in enumerate(groups)
        for member, value in enumerate(values)
    ]


def test_a_group_of_two_divides_by_one_and_a_group_of_one_has_no_deviation() -> None:
    # 0 and 2: squares of 1 and 1 from the mean, over 2 - 1; 0, 3, 6: (9 + 0 + 9) / 2 = 9
    assert group_stds(groups_of([0, 2], [0, 3, 6], [5])) == {0: pytest.approx(2**0.5), 1: pytest.approx(3.0), 2: 0.0}


def test_the_metrics_are_means_over_groups_and_those_without_deviation_count() -> None:
    # group standard deviations of 3, 0 and 0 (one member): mean 1; two of three groups have none
    found = rollout_metrics(groups_of([0, 3, 6], [4, 4], [5]))
    assert found["reward/within_group_std"] == found["reward/within_group_score_std"] == pytest.approx(1.0)
    assert found["rollout/zero_variance_share"] == pytest.approx(2 / 3)


def test_only_where_no_group_has_two_members_is_the_deviation_that_of_all() -> None:
    assert score_std(groups_of([0], [3], [6])) == pytest.approx(3.0)
    assert score_std(groups_of([0], [3], [6, 6])) == 0.0  # the only group of two agrees
    assert score_std(groups_of([7])) == 0.0
