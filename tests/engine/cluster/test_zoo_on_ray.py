"""Runs of another architecture on Ray, sampled by vLLM: it computes what the learner does, also after updates."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.rollout.trajectory_files import read_records
from tests.engine.cluster.runs import events, needs_ray, ray_config, train
from tests.engine.policies.vllm_builders import needs_vllm
from tests.engine.zoo import save_zoo_model

pytestmark = [pytest.mark.slow, needs_ray, needs_vllm]


def test_vllm_samples_what_is_trained_on(tmp_path: Path, ray_address: str) -> None:
    """Of Gemma 3, which has windows and no system role. `engine/policies/test_zoo_in_vllm.py` has the others in vLLM
    alone; they were run by hand as well (docs/cluster.md), since each takes a minute."""
    path = save_zoo_model(tmp_path / "model", "Gemma 3", head_size=32)
    config = ray_config(
        steps=2,
        model={"path": str(path)},
        algorithm={"type": "ppo"},
        cluster={"sampler": "vllm"},
        environments=[{"kind": "frozen_lake", "max_turns": 2, "max_response_tokens": 10}],
        rollout={"groups": 2, "group_size": 2, "max_context_tokens": 250},
        diagnostics={"every": 0},
        evaluation={"every": 0, "at_start": False, "final_episodes": 1},
    )
    assert train(config, tmp_path / "run", RAY_ADDRESS=ray_address) == 0
    steps = [event.metrics for event in events(tmp_path / "run") if event.kind == "step_completed"]
    assert len(steps) == 2
    for metrics in steps:
        assert abs(metrics["policy/sampler_kl"]) < 2e-4
        assert metrics["cluster/probe_gap"] < 1e-3
    for file in (tmp_path / "run" / "trajectories" / "train").glob("*.zst"):
        for _, _, record in read_records(file):
            tokens = record["tokens"]
            sampled = [at for turn in record["turns"] for at in range(turn["response_start"], turn["response_end"])]
            assert sampled == [at for at, on in enumerate(tokens["sampled"]) if on]
