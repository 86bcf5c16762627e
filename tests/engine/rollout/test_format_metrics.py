"""Metrics of the form of responses: how long they are, what is wrong with them where, and how many turns they take."""

from __future__ import annotations

import statistics
from dataclasses import replace

import pytest

from engine.rollout.types import Trajectory
from engine.training.rollout_metrics import rollout_metrics
from tests.engine.rollout.builders import lake_config, say

GOOD, UNKNOWN, BROKEN = (
    "go</think><answer>Right</answer>",
    "go</think><answer>Jump</answer>",
    "go",
)


def on(tag: str, response: str) -> list[Trajectory]:
    """Six trajectories of four turns that all say `response`."""
    return say(
        lake_config(tag=tag, max_response_tokens=40, parameters={"frozen_probability": 1.0, "size": 8}), [response]
    )


def test_unknown_actions_and_malformed_responses_are_reported_by_environment() -> None:
    metrics = rollout_metrics(on("Lake", UNKNOWN) + on("Pond", BROKEN))
    assert metrics["rollout/invalid_action_rate"] == 0.5
    assert (metrics["env/Lake/invalid_action_rate"], metrics["env/Pond/invalid_action_rate"]) == (1.0, 0.0)
    assert metrics["env/Lake/parse_ok_rate"] == metrics["env/Pond/parse_ok_rate"] == 0.0
    assert rollout_metrics(on("Lake", GOOD))["env/Lake/parse_ok_rate"] == 1.0


def test_turns_used_are_a_share_of_what_the_environment_allows() -> None:
    played = on("Lake", BROKEN)  # four turns each: nothing ends the episode before its limit
    assert rollout_metrics(played, max_turns={"Lake": 8})["env/Lake/turns_used"] == 0.5
    assert "env/Lake/turns_used" not in rollout_metrics(played)
    for trajectory in played:
        trajectory.fault = "the ice broke"
    assert "env/Lake/turns_used" not in rollout_metrics(played, max_turns={"Lake": 8})


def test_the_95th_percentile_of_lengths_is_of_responses() -> None:
    played = on("Lake", BROKEN)
    turns = [turn for trajectory in played for turn in trajectory.turns]
    for index, turn in enumerate(turns):
        turn.response_end = turn.response_start + index  # 0 to 23 tokens: 0.95 of 23 is 21.85
    assert len(turns) == 24
    assert rollout_metrics(played)["rollout/response_tokens_p95"] == pytest.approx(21.85)


def test_the_score_std_of_a_group_includes_penalties_and_the_return_std_does_not() -> None:
    played = on("Lake", BROKEN)
    for trajectory in played:
        for turn in trajectory.turns:
            turn.penalty = -0.1 * trajectory.member if turn is trajectory.turns[0] else 0.0
    members = sorted({trajectory.member for trajectory in played})
    found = rollout_metrics(played)
    assert found["reward/within_group_std"] == 0.0
    expected = statistics.stdev(-0.1 * member for member in members)  # the same in each group
    assert found["reward/within_group_score_std"] == pytest.approx(expected)


def test_with_groups_of_one_the_score_std_is_that_of_the_step() -> None:
    alone = [trajectory for trajectory in on("Lake", BROKEN) if trajectory.member == 0][:2]
    for trajectory, penalty in zip(alone, (0.0, -0.2), strict=True):
        for turn in trajectory.turns:
            turn.penalty = penalty if turn is trajectory.turns[0] else 0.0
    # means to -0.1, 0.1 from it each: sqrt(0.02)
    assert rollout_metrics(alone)["reward/within_group_score_std"] == pytest.approx(0.02**0.5)


def groups_of(*groups: list[float]) -> list[Trajectory]:
    """Trajectories whose returns are given by group; what returns 1 has succeeded."""
    one = on("Lake", BROKEN)[0]
    return [
        replace(one, group=group, member=member, success=value == 1.0, turns=[replace(one.turns[0], reward=value)])
        for group, values in enumerate(groups)
        for member, value in enumerate(values)
    ]


def test_groups_are_counted_by_whether_all_some_or_none_of_their_trajectories_succeeded() -> None:
    played = groups_of([0, 0], [0, 1], [1, 1], [0.5, 0.0], [1, 0])
    found = rollout_metrics(played)
    names = ("rollout/failed_groups", "rollout/mixed_groups", "rollout/solved_groups")
    assert [found[name] for name in names] == [2, 2, 1]
    for trajectory in played[:2]:
        trajectory.fault = "the ice broke"  # of that problem nobody knows
    assert [rollout_metrics(played)[name] for name in names] == [1, 2, 1]


def test_the_variation_of_group_stds_is_their_std_over_their_mean() -> None:
    # standard deviations of 0, 1 and of 0, 3 are sqrt(1/2) and 3 sqrt(1/2): 1 from their mean of 2, both times
    # sqrt(1/2)
    assert rollout_metrics(groups_of([0, 1], [0, 3]))["reward/within_group_std_variation"] == pytest.approx(0.5)
    assert rollout_metrics(groups_of([0, 1], [1, 0]))["reward/within_group_std_variation"] == 0.0
    assert "reward/within_group_std_variation" not in rollout_metrics(groups_of([1, 1], [0, 0]))
