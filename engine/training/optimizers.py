"""AdamW (arXiv 1711.05101), its moments in float32 or in 8 bits.

Eight bits are those of bitsandbytes: blocks of 256 numbers with a scale each (arXiv 2110.02861). Small tensors, such as
norms and biases, stay in float32.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import torch
from torch import nn
from torch.distributed.tensor import DTensor

from engine.config import OptimizerConfig
from engine.errors import ModelError


def adamw(weights: Iterable[nn.Parameter], config: OptimizerConfig, *, learning_rate: float) -> torch.optim.Optimizer:
    if config.moments == "float32":
        return FusedAdamW(weights, lr=learning_rate, weight_decay=config.weight_decay, fused=True)
    try:
        from bitsandbytes.optim import AdamW8bit
    except ImportError as error:
        raise ModelError(
            f"optimizer.moments is {config.moments}, and the package bitsandbytes cannot be imported: {error}",
            remedy="pip install 'starboard[8bit]', or set optimizer.moments to float32.",
        ) from error
    found: torch.optim.Optimizer = AdamW8bit(weights, lr=learning_rate, weight_decay=config.weight_decay)
    return found


class FusedAdamW(torch.optim.AdamW):
    """PyTorch's kernel that updates each weight and its moments in one pass, without temporaries. It takes either
    sharded weights or whole ones, so it is called for each kind."""

    def step(self, closure: Callable[[], float] | None = None) -> Any:
        groups = self.param_groups
        self.param_groups = [part for group in groups for part in _by_kind(group)]
        try:
            return super().step(closure)
        finally:
            self.param_groups = groups


def _by_kind(group: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for sharded in (False, True):
        if weights := [weight for weight in group["params"] if isinstance(weight, DTensor) == sharded]:
            yield {**group, "params": weights}
