"""What trajectory files keep of a trajectory."""

from __future__ import annotations

from typing import Any

from engine.rollout.action_parser import ParsedResponse
from engine.rollout.records import record_of
from engine.rollout.types import Trajectory, Turn


def one_turn(entropies: list[float] | None) -> dict[str, Any]:
    """The record of two given tokens and two sampled ones."""
    trajectory = Trajectory(environment="lake", kind="frozen_lake", group=0, member=0, seed=1)
    trajectory.append([5, 6])
    trajectory.append([7, 8], logprobs=[-1.0, -3.0], entropies=entropies)
    parsed = ParsedResponse(thought="", actions=["Left"], case="ok")
    trajectory.turns = [
        Turn(
            prompt_start=0, response_start=2, response_end=4, prompt="", messages=[], response="", parsed=parsed,
            executed=["Left"], reward=0.0, penalty=0.0, frames=[],
        )
    ]  # fmt: skip
    return record_of(trajectory, step=1, split="validation", piece=str)


def test_means_of_a_turn_are_over_its_sampled_tokens() -> None:
    record = one_turn([0.5, 1.0])
    assert record["tokens"]["entropies"] == [0.0, 0.0, 0.5, 1.0]
    # (0.5 + 1.0) / 2 and (-1 - 3) / 2
    assert (record["turns"][0]["entropy"], record["turns"][0]["logprob"]) == (0.75, -2.0)


def test_what_the_sampler_does_not_tell_is_absent_and_not_0() -> None:
    record = one_turn(None)
    assert record["tokens"]["entropies"] is None
    assert record["turns"][0]["entropy"] is None
    assert record["turns"][0]["logprob"] == -2.0
