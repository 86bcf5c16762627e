"""The memory that a run is said to need, from its own settings, and in words."""

from __future__ import annotations

from typing import Any

import pytest

from engine.cluster.byte_units import format_bytes
from engine.cluster.memory import estimate
from engine.config import build_config
from engine.policies.model_shape import model_shape


def run(**sections: Any) -> Any:
    return build_config({"backend": "ray", "diagnostics": {"gradients_every": 0}, **sections})


def test_a_run_is_estimated_by_its_own_numbers() -> None:
    config = run(rollout={"groups": 3, "group_size": 4, "max_context_tokens": 500}, cluster={"samplers": 2})
    found = estimate(config, model_shape("tiny"), gpu=False)
    assert (found.rows, found.context, found.gpu) == (6, 500, False)
    # 12 trajectories in two mini-batches: 6 x 500 tokens are more than go through a CPU at once
    assert found.tokens == 2048
    few = run(rollout={"groups": 1, "group_size": 2, "max_context_tokens": 500})
    assert estimate(few, model_shape("tiny"), gpu=False).tokens == 500
    long = run(rollout={"max_context_tokens": 8000})
    assert estimate(long, model_shape("tiny"), gpu=False).context == 2048  # as far as the model has positions


def test_the_precision_left_open_is_half_on_a_gpu_alone() -> None:
    shape = model_shape("tiny")
    on_cpu, on_gpu = (estimate(run(), shape, gpu=gpu).sampler.weights for gpu in (False, True))
    assert (on_cpu, on_gpu) == (609_920 * 4, 609_920 * 2)
    assert estimate(run(optimizer={"precision": "float32"}), shape, gpu=True).sampler.weights == on_cpu


def test_more_learners_smaller_micro_batches_and_adapters_need_less() -> None:
    shape = model_shape("tiny")

    def total(**sections: Any) -> int:
        return estimate(run(**sections), shape, gpu=True).learner.total

    usual = total()
    assert total(cluster={"learners": 8}) < usual
    assert total(optimizer={"micro_batch_tokens": 2048}) < usual
    assert total(model={"lora": {"rank": 8}}) < usual
    assert total(optimizer={"gradient_checkpointing": True}) < usual
    assert total(algorithm={"type": "ppo"}) > usual


def test_the_estimate_is_said_in_words() -> None:
    config = run(cluster={"samplers": 2, "learners": 4})
    sampler, learner, machine = estimate(config, model_shape("tiny"), gpu=True).sentences()
    assert sampler.startswith("Each of 2 samplers needs about ")
    assert "cache for 64 trajectories of 1,024 tokens 64.0 MiB" in sampler
    assert learner.startswith("Each of 4 learners needs at most about ")
    assert "activations" in learner
    assert machine.startswith("The first one's machine needs ")


@pytest.mark.parametrize(
    ("size", "words"),
    [(0, "0 bytes"), (1023, "1023 bytes"), (1536, "1.5 KiB"), (80 * 1024**3, "80.0 GiB"), (2.0**60, "1024 PiB")],
)
def test_bytes_in_words(size: float, words: str) -> None:
    assert format_bytes(size) == words
