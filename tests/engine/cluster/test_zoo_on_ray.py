"""Runs of many architectures on Ray, sampled by vLLM: it computes what the learner does, also after updates."""

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
# every class that vLLM has, each with one of the three: `engine/training/test_zoo_runs.py` has all three of each on one
# machine, and `engine/policies/test_zoo_in_vllm.py` what vLLM computes before and after new weights
RUNS = {
    "Gemma 2": GRPO, "Gemma 3": PPO, "GPT-2": LORA,
    "Llama 3": PPO, "Mistral": LORA, "Mixture of experts": GRPO,
    "Phi 3": PPO, "Qwen2": LORA, "Qwen3": GRPO,
}  # fmt: skip


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
