"""What the sampler said of its tokens is compared with what the learner finds, whoever the sampler is."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import replace

import pytest

from engine.rollout.batching import collate
from engine.rollout.types import Trajectory
from engine.training.learner import Learner
from engine.training.step_update import update
from tests.engine.rollout.builders import lake_config, roll_out
from tests.engine.talker import talking_model
from tests.engine.training.builders import learner_config

OFF = 0.25  # nats that the sampler is made to say too much of each token


def said_too_much(trajectory: Trajectory) -> list[float]:
    return [value + OFF * on for value, on in zip(trajectory.logprobs, trajectory.sampled, strict=True)]


def metrics_of(trajectories: list[Trajectory], *, updates: int = 1) -> dict[str, float]:
    learner = Learner(deepcopy(talking_model()), learner_config(optimizer={"updates_per_step": updates}))
    return update(learner, collate(trajectories), step=1, scale=1.0)[1]


@pytest.mark.parametrize("updates", [1, 2])
def test_a_sampler_in_the_same_process_that_computes_something_else_is_seen(updates: int) -> None:
    sampled = roll_out(lake_config())
    assert metrics_of(sampled, updates=updates)["policy/sampler_kl"] == pytest.approx(0.0, abs=1e-4)
    wrong = [replace(trajectory, logprobs=said_too_much(trajectory)) for trajectory in sampled]
    found = metrics_of(wrong, updates=updates)
    assert found["policy/sampler_kl"] == pytest.approx(OFF, abs=1e-4)
    assert "policy/sampler_gap" not in found  # there is one program


def test_another_program_is_compared_by_what_the_learner_scored() -> None:
    both = [
        replace(trajectory, logprobs=said_too_much(trajectory), learner_logprobs=trajectory.logprobs)
        for trajectory in roll_out(lake_config())
    ]
    found = metrics_of(both)
    assert found["policy/sampler_kl"] == pytest.approx(OFF, abs=1e-4)
    assert found["policy/sampler_gap"] == pytest.approx(OFF, abs=1e-4)
    assert found["policy/importance_weight"] == pytest.approx(0.7788, abs=1e-4)  # e^-0.25
