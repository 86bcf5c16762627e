"""How many tokens go through the model in one forward pass."""

from __future__ import annotations

import torch

from engine.config import OptimizerConfig
from engine.training.token_values import tokens_per_forward


def test_a_configured_number_of_tokens_applies_on_any_device() -> None:
    configured = OptimizerConfig(micro_batch_tokens=700)
    assert (
        tokens_per_forward(configured, torch.device("cpu"))
        == tokens_per_forward(configured, torch.device("cuda", 0))
        == 700
    )


def test_the_default_is_larger_on_a_gpu_than_on_a_cpu() -> None:
    default = OptimizerConfig()
    assert tokens_per_forward(default, torch.device("cpu")) == 2048
    assert tokens_per_forward(default, torch.device("cuda", 0)) == 16384
