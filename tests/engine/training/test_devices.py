"""Where tensors are: the model on its device, batches and all that is light on the CPU."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor

from engine.config import build_config
from engine.training.learner import Learner
from engine.training.step_update import update
from tests.engine.models import small_model
from tests.engine.training.builders import made_up_batch
from tests.engine.training.pretend_gpu import Far, OtherDevice, move, pretend_gpu

VARIANTS: dict[str, dict[str, Any]] = {
    "plain": {},
    "packed": {"optimizer": {"packing": True}},
    "with a reference model": {"loss": {"kl_coefficient": 0.1}},
    "with a critic": {"algorithm": {"type": "ppo"}},
}


def learned(variant: dict[str, Any], *, gpu: bool) -> tuple[Tensor, dict[str, float]]:
    learner = Learner(small_model(), build_config(variant))
    batch = made_up_batch()
    if not gpu:
        return update(learner, batch, step=1, scale=1.0)
    move(learner.model)
    if learner.critic is not None:
        move(learner.critic)
    if learner.reference is not None:
        with learner.reference.model() as start:
            move(start)
    with pretend_gpu():
        return update(learner, batch, step=1, scale=1.0)


@pytest.mark.parametrize("variant", VARIANTS.values(), ids=VARIANTS)
def test_a_model_on_a_gpu_learns_from_a_batch_on_the_cpu(variant: dict[str, Any]) -> None:
    (here, wanted), (there, found) = learned(variant, gpu=False), learned(variant, gpu=True)
    assert not isinstance(there, Far) and torch.equal(there, here)
    assert found == wanted


def test_the_pretended_gpu_refuses_what_a_real_one_would() -> None:
    model = small_model()
    move(model)
    with pretend_gpu(), pytest.raises(OtherDevice):
        model(torch.zeros((1, 4), dtype=torch.long))
