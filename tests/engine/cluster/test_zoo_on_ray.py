"""Runs of architectures that differ from the model that ships, on Ray and sampled by vLLM: it computes what the learner
does, also after updates."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from engine.rollout.trajectory_files import read_records
from tests.engine.cluster.runs import events, needs_ray, ray_config, train
from tests.engine.policies.vllm_builders import needs_vllm
from tests.engine.zoo import save_zoo_model

pytestmark = [pytest.mark.slow, needs_ray, needs_vllm]

GRPO: dict[str, Any] = {"algorithm": {"type": "grpo"}, "loss": {"kl_coefficient": 0.01}}
PPO: dict[str, Any] = {"algorithm": {"type": "ppo"}}
LORA: dict[str, Any] = {"algorithm": {"type": "grpo"}, "model": {"lora": {"rank": 4}}}
# Weights of other names and shapes, an attention of our own in the learner, a critic, an adapter of another class of
# layers. The model that ships and its adapters are in `test_vllm_runs.py` and `test_adapters_on_ray.py`, the three
# kinds of runs of every architecture in `engine/training/test_zoo_runs.py`, and what vLLM computes and samples with new
# weights of each in `engine/policies/test_zoo_in_vllm.py`.
RUNS = {"Gemma 2": GRPO, "Gemma 3": PPO, "GPT-2": LORA, "Mixture of experts": GRPO}


@pytest.mark.parametrize("name", RUNS)
def test_vllm_samples_what_is_trained_on(tmp_path: Path, ray_address: str, name: str) -> None:
    changes, path = dict(RUNS[name]), save_zoo_model(tmp_path / "model", name, head_size=32)
    config = ray_config(
        steps=2,
        model={"path": str(path), **changes.pop("model", {})},
        cluster={"sampler": "vllm"},
        environments=[{"kind": "frozen_lake", "max_turns": 2, "max_response_tokens": 10}],
        rollout={"groups": 2, "group_size": 2, "max_context_tokens": 250},
        diagnostics={"every": 0},
        evaluation={"every": 0, "at_start": False, "final_episodes": 1},
        **changes,
    )
    assert train(config, tmp_path / "run", RAY_ADDRESS=ray_address) == 0
    steps = [event.metrics for event in events(tmp_path / "run") if event.kind == "step_completed"]
    assert len(steps) == 2
    for metrics in steps:
        assert abs(metrics["policy/sampler_kl"]) < 2e-4
        assert metrics["cluster/probe_gap"] < 1e-3
        assert metrics["optim/skipped_updates"] == 0
    for file in (tmp_path / "run" / "trajectories" / "train").glob("*.zst"):
        for _, _, record in read_records(file):
            tokens = record["tokens"]
            sampled = [at for turn in record["turns"] for at in range(turn["response_start"], turn["response_end"])]
            assert sampled == [at for at, on in enumerate(tokens["sampled"]) if on]
