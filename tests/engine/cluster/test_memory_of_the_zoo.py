"""The memory that learners are said to need, against real ones of many architectures."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from engine.cluster.learner_memory import learner_memory
from engine.cluster.local_memory import estimate_local
from engine.cluster.sampler_memory import torch_memory
from engine.policies.loading import check_architecture, compute_in
from engine.policies.model_shape import model_shape
from engine.policies.rounded_weights import rounded_once
from engine.training.checkpoint import load_learner
from tests.engine.cluster.test_memory_of_real_learners import activation_bytes_of, moments_of, size_of
from tests.engine.training.builders import learner_config, made_up_batch, update
from tests.engine.zoo import ZOO, save_zoo_model, zoo_model

ROWS, LENGTH = 16, 120
NOT_PLAIN = ("Qwen3", "Gemma 2", "Gemma 3", "Phi 3", "GPT-2", "Mixture of experts")
every_model = pytest.mark.parametrize("name", ZOO)


@every_model
def test_weights_gradients_and_moments_under_an_adapter_in_bfloat16_are_those_of_the_plan(
    tmp_path: Path, name: str
) -> None:
    """To the byte, of layers that transformers stores as (in, out) and of experts that it merges too."""
    model = {"path": str(save_zoo_model(tmp_path / "model", name)), "lora": {"rank": 4}}
    config = learner_config(model=model, optimizer={"precision": "bfloat16"})
    _, learner, _ = load_learner(config, None, device="cpu")
    update(learner, made_up_batch((6, 9)))
    policy = list(learner.model.parameters())
    plan = estimate_local(config, model_shape(model["path"]), gpu=False).learner
    assert (plan.weights, plan.gradients, plan.moments) == (
        size_of(policy),
        size_of(weight for weight in policy if weight.requires_grad),
        size_of(moments_of(learner.optimizer)),
    )


@pytest.mark.parametrize("again", [False, True], ids=["kept", "computed again"])
@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
@pytest.mark.parametrize("name", NOT_PLAIN)
def test_an_update_takes_what_was_estimated(tmp_path: Path, name: str, precision: str, again: bool) -> None:
    """Most of it in the layers, as few tokens are sampled. As plain decoders they would be planned from 0.63 on."""
    path, tokens = str(save_zoo_model(tmp_path, name)), ROWS * LENGTH
    optimizer = {"precision": precision, "gradient_checkpointing": again, "micro_batch_tokens": tokens}
    _, learner, _ = load_learner(learner_config(model={"path": path}, optimizer=optimizer), None, device="cpu")
    batch = made_up_batch((LENGTH,) * ROWS)
    batch.mask[:, 8:] = 0
    update(learner, batch)
    taken, half = activation_bytes_of(learner, batch), precision == "bfloat16"
    plan = learner_memory(
        model_shape(path), tokens=tokens, sampled=int(batch.mask.sum()), half=half, checkpointing=again, context=LENGTH
    )
    most = 1.1 if name == "Mixture of experts" else 1.2
    assert 0.95 < (plan.gradients + plan.activations) / taken < most


@pytest.mark.parametrize("name", NOT_PLAIN)
def test_an_update_in_packs_takes_what_was_estimated(tmp_path: Path, name: str) -> None:
    """Of sequences whose lengths differ, and of a window or capped scores at most."""
    path, lengths = str(save_zoo_model(tmp_path, name)), tuple(range(40, LENGTH + 1, 5))
    optimizer = {"packing": True, "micro_batch_tokens": sum(lengths)}
    _, learner, _ = load_learner(learner_config(model={"path": path}, optimizer=optimizer), None, device="cpu")
    batch = made_up_batch(lengths)
    batch.mask[:, 8:] = 0
    update(learner, batch)
    sampled, context = int(batch.mask.sum()), max(lengths)
    plan = learner_memory(model_shape(path), tokens=sum(lengths), sampled=sampled, context=context, packing=True)
    assert 0.95 < (plan.gradients + plan.activations) / activation_bytes_of(learner, batch) < 1.25


@every_model
def test_the_matrices_that_a_rollout_rounds_are_those_of_the_plan(tmp_path: Path, name: str) -> None:
    plan = torch_memory(model_shape(str(save_zoo_model(tmp_path, name))), context=16, rows=1, half=True)
    model = zoo_model(name)
    check_architecture(model)
    compute_in(model, "bfloat16")
    with rounded_once(model):
        rounded = [weight for weight in model.parameters() if weight.dtype == torch.bfloat16 and weight.ndim == 2]
        assert size_of(rounded) == plan.rounded
