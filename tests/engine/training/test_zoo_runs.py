"""Runs on many architectures, each with the chat template of its family: the learner gives the sampled tokens the
probabilities that the sampler drew them with. `tests/engine/rollout/test_trained_tokens.py` compares their ids."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from engine.errors import ModelError
from engine.policies.loading import load_tokenizer
from engine.rollout.trajectory_files import read_records
from engine.training.session import EXIT_DONE, train
from tests.engine.training.test_runs import run_config, steps_of
from tests.engine.zoo import ZOO, save_zoo_model

RUNS: dict[str, dict[str, Any]] = {
    "GRPO": {"algorithm": {"type": "grpo"}, "loss": {"kl_coefficient": 0.01}},
    "PPO on packs": {"algorithm": {"type": "ppo"}, "optimizer": {"packing": True}},
    "LoRA": {"model": {"lora": {"rank": 4}}, "rollout": {"context": {"type": "last_k_turns", "turns": 2}}},
}


def test_a_model_without_a_chat_template_is_refused_until_it_is_given_one(tmp_path: Path) -> None:
    path = save_zoo_model(tmp_path / "model", "GPT-2")
    (path / "chat_template.jinja").unlink()
    with pytest.raises(ModelError, match=r"has no chat template\. Use an instruct model, or set model\.chat_template"):
        load_tokenizer(str(path))
    assert load_tokenizer(str(path), chat_template="plain words").chat_template == "plain words"


@pytest.mark.slow
@pytest.mark.parametrize("run", RUNS)
@pytest.mark.parametrize("name", ZOO)
def test_two_steps_train_on_the_tokens_that_were_sampled(tmp_path: Path, name: str, run: str) -> None:
    path, changes = save_zoo_model(tmp_path / "model", name), dict(RUNS[run])
    config = run_config(
        path,
        steps=2,
        model={"path": str(path), **changes.pop("model", {})},
        rollout={"groups": 2, "group_size": 2, "max_context_tokens": 250, **changes.pop("rollout", {})},
        evaluation={"every": 0, "final_episodes": 1},
        diagnostics={"every": 1, "reasonings": 2, "prompts": 2},
        **changes,
    )
    assert train(config, tmp_path / "run") == EXIT_DONE
    for metrics in steps_of(tmp_path / "run").values():
        assert abs(metrics["policy/sampler_kl"]) < 2e-4
        assert metrics["optim/skipped_updates"] == 0
    for file in (tmp_path / "run" / "trajectories" / "train").glob("*.zst"):
        for _, _, record in read_records(file):
            tokens = record["tokens"]
            sampled = [at for turn in record["turns"] for at in range(turn["response_start"], turn["response_end"])]
            assert sampled == [at for at, on in enumerate(tokens["sampled"]) if on]
