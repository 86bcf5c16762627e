"""Every algorithm trains: short real runs on the untrained model, update and record included."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest

from engine.training.session import EXIT_DONE, train
from tests.engine.algorithms.builders import every_credit
from tests.engine.models import save_small_model
from tests.engine.training.test_runs import run_config, steps_of

QUIET: dict[str, Any] = {
    "evaluation": {"every": 0, "at_start": False, "final_episodes": 1}, "diagnostics": {"every": 0},
    "checkpoint": {"every": 0},
}  # fmt: skip
NORMALIZED = {"type": "asym_clip", "among": "environment"}
NORMALIZED_SUM = {"type": "sequence_mean_token_sum_norm"}


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_small_model(tmp_path_factory.mktemp("model"))


@pytest.mark.slow
@pytest.mark.parametrize(("algorithm", "fields"), every_credit())
def test_a_run_of_two_steps_updates_the_policy(
    model: Path, tmp_path: Path, algorithm: str, fields: dict[str, Any]
) -> None:
    config = run_config(model, steps=2, **QUIET, algorithm={"type": algorithm, **fields})
    assert train(config, tmp_path) == EXIT_DONE
    for metrics in steps_of(tmp_path).values():
        assert metrics["optim/grad_norm"] > 0 and math.isfinite(metrics["policy/loss"])
        assert ("value/loss" in metrics) == (config.algorithm.critic_settings is not None)


@pytest.mark.slow
@pytest.mark.parametrize(
    "changes",
    [
        {"algorithm": {"type": "grpo", "kl_in_reward": 0.1}},
        {"algorithm": {"type": "ppo", "kl_in_reward": 0.1}, "diagnostics": {"every": 0, "gradients_every": 1}},
        {"algorithm": {"type": "grpo", "credit": {"type": "trajectory", "normalization": NORMALIZED}}},
        {"loss": {"kl_coefficient": 0.1, "kl_kind": "k3+", "aggregation": NORMALIZED_SUM}},
        {"filter": {"type": "top_k_absolute", "value": 2, "metric": "entropy", "loss_scaling": "sqrt"}},
        {"algorithm": {"type": "remax"}, "rollout": {"groups": 2, "group_size": 1}},
        {
            "algorithm": {"type": "grpo", "soft_reweighting": True, "length_weighting": True},
            "rollout": {"overlong_buffer": 0.9},
        },
    ],
    ids=[
        "kl in reward",
        "kl in reward, probed",
        "normalised",
        "straight-through kl",
        "entropy filter",
        "lone remax",
        "reweighted",
    ],
)
def test_a_run_of_two_steps_with_each_setting_updates_the_policy(
    model: Path, tmp_path: Path, changes: dict[str, Any]
) -> None:
    assert train(run_config(model, **{"steps": 2, **QUIET, **changes}), tmp_path) == EXIT_DONE
    charged = changes.get("algorithm", {}).get("kl_in_reward", 0) > 0
    for metrics in steps_of(tmp_path).values():
        assert metrics["optim/grad_norm"] > 0
        assert ("policy/kl_in_reward" in metrics) == charged
