"""How many tokens go through the model at once."""

from __future__ import annotations

import torch

from engine.config.learning import ON_A_CPU, ON_A_GPU, OptimizerConfig


def tokens_per_pass(optimizer: OptimizerConfig, device: torch.device) -> int:
    """What `micro_batch_tokens` says, or what suits the device where it leaves the choice."""
    return optimizer.micro_batch_tokens or (ON_A_CPU if device.type == "cpu" else ON_A_GPU)
