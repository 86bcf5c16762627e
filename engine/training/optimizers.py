"""AdamW (arXiv 1711.05101), its moments in float32 or in 8 bits.

Eight bits are those of bitsandbytes: blocks of 256 numbers with a scale each (arXiv 2110.02861). Small tensors, such as
norms and biases, stay in float32.
"""

from __future__ import annotations

from collections.abc import Iterable

import torch
from torch import nn

from engine.config import OptimizerConfig
from engine.errors import ModelError


def adamw(weights: Iterable[nn.Parameter], config: OptimizerConfig, *, learning_rate: float) -> torch.optim.Optimizer:
    if config.moments == "float32":
        return torch.optim.AdamW(weights, lr=learning_rate, weight_decay=config.weight_decay)
    try:
        from bitsandbytes.optim import AdamW8bit
    except ImportError as error:
        raise ModelError(
            f"optimizer.moments is {config.moments}, and the package bitsandbytes cannot be imported: {error}",
            remedy="pip install 'starboard[8bit]', or set optimizer.moments to float32.",
        ) from error
    found: torch.optim.Optimizer = AdamW8bit(weights, lr=learning_rate, weight_decay=config.weight_decay)
    return found
