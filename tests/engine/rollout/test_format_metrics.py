"""Metrics of the form of replies: how long they are, what is wrong with them where, and how many turns they take."""

from __future__ import annotations

import pytest

from engine.rollout.types import Trajectory
from engine.training.rollout_metrics import rollout_metrics
from tests.engine.rollout.builders import lake_config, say

GOOD, UNKNOWN, BROKEN = (
    "go</think><answer>Right</answer>",
    "go</think><answer>Jump</answer>",
    "go",
)


def on(tag: str, reply: str) -> list[Trajectory]:
    """Six trajectories of four turns that all say `reply`."""
    return say(lake_config(tag=tag, max_reply_tokens=40, parameters={"frozen_probability": 1.0, "size": 8}), [reply])


def test_unknown_actions_and_broken_replies_are_told_by_environment() -> None:
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


def test_the_95th_percentile_of_lengths_is_of_replies() -> None:
    played = on("Lake", BROKEN)
    turns = [turn for trajectory in played for turn in trajectory.turns]
    for place, turn in enumerate(turns):
        turn.reply_end = turn.reply_start + place  # 0 to 23 tokens: 0.95 of 23 is 21.85
    assert len(turns) == 24
    assert rollout_metrics(played)["rollout/reply_tokens_p95"] == pytest.approx(21.85)
