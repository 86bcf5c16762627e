"""AdamW by its formula; with moments in 8 bits it learns, in a quarter of the memory, and resumes exactly."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
import torch

from engine.cluster.checks import Machine, check_machine, require_feasible
from engine.cluster.learner_memory import moment_bytes
from engine.config import build_config
from engine.errors import ConfigError, ModelError
from engine.forking import describe_start, takes_optimizer
from engine.training.checkpoint_settings import FILE
from engine.training.learner import Learner
from engine.training.optimizers import adamw
from engine.training.session import EXIT_DONE, EXIT_FAILED, train
from tests.engine.models import save_small_model, small_model
from tests.engine.training.builders import learner_config, made_up_batch
from tests.engine.training.test_runs import events_of, run_config, steps_of

EIGHT = {"moments": "8bit"}
MACHINE = Machine(gpus=(), memory=64 << 30)


def test_a_step_is_the_one_of_adamws_formula_for_weights_of_any_shape() -> None:
    config = learner_config(optimizer={"weight_decay": 0.01}).optimizer
    weights = [torch.nn.Parameter(torch.ones(shape)) for shape in ((), (3,), (2, 5))]
    optimizer = adamw(weights, config, learning_rate=0.1)
    for weight, gradient in zip(weights, (0.5, -0.25, 0.0), strict=True):
        weight.grad = torch.full_like(weight, gradient)
    optimizer.step()
    # both moments over their corrections are the gradient and its square, so a step is 0.1 against its sign; before
    # that the weight decays by 0.1 x 0.01
    for weight, expected in zip(weights, (0.899, 1.099, 0.999), strict=True):
        torch.testing.assert_close(weight.detach(), torch.full_like(weight, expected))


def with_library() -> None:
    pytest.importorskip("bitsandbytes", reason="needs the extra 8bit")


def learner_of(moments: str, *, width: int = 32) -> Learner:
    config = learner_config(optimizer={"moments": moments, "learning_rate": 0.01})
    return Learner(small_model(width=width), config)


def likelihood_after(learner: Learner, *, updates: int) -> list[float]:
    """Mean log-probability of a batch that is always rewarded, before each update and after the last."""
    batch = made_up_batch()
    found = []
    for step in range(updates + 1):
        logprobs, _ = learner.score(batch)
        found.append(float((logprobs * batch.mask).sum() / batch.mask.sum()))
        learner.update(batch, batch.mask.clone(), step=1 + step, shuffle=torch.Generator().manual_seed(step))
    return found


def test_what_is_rewarded_becomes_likelier_nearly_as_with_moments_in_float32() -> None:
    with_library()
    eight, whole = (likelihood_after(learner_of(moments), updates=5) for moments in ("8bit", "float32"))
    assert eight == sorted(eight) and eight[-1] > eight[0] + 0.1
    assert eight[-1] - eight[0] == pytest.approx(whole[-1] - whole[0], rel=0.1)
    assert eight != whole


def test_the_moments_take_a_quarter_of_the_bytes_which_is_what_the_plan_has() -> None:
    with_library()
    learner, other = learner_of("8bit", width=128), learner_of("float32", width=128)
    for one in (learner, other):
        likelihood_after(one, updates=1)
    weights = list(learner.model.parameters())
    # the tables of the 256 values that a byte stands for are the same for all tensors
    held = sum(
        value.nbytes
        for weight in weights
        for name, value in learner.optimizer.state[weight].items()
        if isinstance(value, torch.Tensor) and not name.startswith("qmap")
    )
    assert held == sum(moment_bytes(weight.numel()) for weight in weights)
    whole = sum(
        other.optimizer.state[weight][name].nbytes
        for weight in other.model.parameters()
        for name in ("exp_avg", "exp_avg_sq")
    )
    assert 0.25 < held / whole < 0.28


@pytest.mark.parametrize("algorithm", ["grpo", "ppo"])
@pytest.mark.parametrize("background", ["never", "always"])
def test_a_run_resumes_exactly(tmp_path: Path, algorithm: str, background: str) -> None:
    with_library()
    model = save_small_model(tmp_path / "model")
    config = run_config(
        model, algorithm={"type": algorithm}, optimizer=EIGHT, checkpoint={"every": 2, "background": background}
    )
    assert train(config, tmp_path / "whole") == EXIT_DONE
    train(config.model_copy(update={"steps": 2}), tmp_path / "parts")
    assert train(config, tmp_path / "parts", resume=True) == EXIT_DONE
    assert steps_of(tmp_path / "parts") == steps_of(tmp_path / "whole")
    whole, parts = (tmp_path / name / "checkpoints/step_4" for name in ("whole", "parts"))
    for file in ("model/model.safetensors", "learner.pt"):
        assert (whole / file).read_bytes() == (parts / file).read_bytes()


def test_a_checkpoint_with_other_moments_is_refused(tmp_path: Path) -> None:
    model = save_small_model(tmp_path / "model")
    assert train(run_config(model, steps=1), tmp_path / "run") == EXIT_DONE
    (tmp_path / "run/checkpoints/step_1" / FILE).write_text(json.dumps({"optimizer.moments": "8bit"}))
    (tmp_path / "run/checkpoints/step_1/manifest.json").write_text("{}")
    assert train(run_config(model, steps=2), tmp_path / "run", resume=True) == EXIT_FAILED
    assert "optimizer.moments was 8bit and is now float32" in events_of(tmp_path / "run")[-1].message


def test_a_fork_with_other_moments_starts_with_a_fresh_optimizer(tmp_path: Path) -> None:
    start = {"path": "tiny", "start_from": {"run": "parent", "step": 2}}
    whole, eight = (build_config({"model": start, "optimizer": optimizer}) for optimizer in ({}, EIGHT))
    assert (takes_optimizer(whole, tmp_path), takes_optimizer(eight, tmp_path)) == (True, False)
    (tmp_path / FILE).write_text(json.dumps({"optimizer.moments": "8bit"}))
    assert (takes_optimizer(whole, tmp_path), takes_optimizer(eight, tmp_path)) == (False, True)
    assert "since its moments are 8bit" in describe_start(whole, tmp_path, adopted=False)


def test_without_the_library_a_run_is_refused_by_the_form_and_at_launch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "bitsandbytes", None)  # as if it were not installed
    monkeypatch.setitem(sys.modules, "bitsandbytes.optim", None)
    for backend in ("local", "ray"):
        config = build_config({"backend": backend, "optimizer": EIGHT})
        assert "pip install 'starboard[8bit]'" in check_machine(config, MACHINE).problems["optimizer.moments"]
    with pytest.raises(ConfigError, match="bitsandbytes"):
        require_feasible(build_config({"optimizer": EIGHT}))
    with pytest.raises(ModelError, match="bitsandbytes cannot be imported"):
        learner_of("8bit")


@pytest.mark.parametrize(("learners", "refused"), [(1, False), (2, True)])
def test_sharded_learners_are_refused(learners: int, refused: bool) -> None:
    data: dict[str, Any] = {"backend": "ray", "cluster": {"learners": learners}, "optimizer": EIGHT}
    if not refused:
        assert build_config(data).optimizer.moments == "8bit"
        return
    with pytest.raises(ConfigError, match=r"optimizer.moments.*does not support sharded weights"):
        build_config(data)
