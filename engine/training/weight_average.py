"""The exponential moving average of the trained weights (Polyak and Juditsky's averaging with a fixed horizon).

After each gradient step the average is `decay` times itself plus `1 - decay` times the weights. It begins at the
weights that training starts from, and is kept in float32, as the weights are.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from engine.training.sharding import scattered


class WeightAverage:
    """Of a model whose weights are in place, sharded or not: each process averages its shards."""

    def __init__(self, model: nn.Module, *, decay: float) -> None:
        self.decay = decay
        self.trained = {name: weight for name, weight in model.named_parameters() if weight.requires_grad}
        self.average = {name: weight.detach().clone() for name, weight in self.trained.items()}

    @torch.no_grad()
    def add(self) -> None:
        """Takes the weights after a gradient step into the average."""
        for name, weight in self.trained.items():
            self.average[name].mul_(self.decay).add_(weight, alpha=1 - self.decay)

    @torch.no_grad()
    def swap(self) -> None:
        """Exchanges the model's weights with the average, bit by bit; the second call undoes the first."""
        for name, weight in self.trained.items():
            kept = weight.detach().clone()
            weight.copy_(self.average[name])
            self.average[name].copy_(kept)

    @contextmanager
    def in_place(self) -> Iterator[None]:
        """Within it the model has the averaged weights."""
        self.swap()
        try:
            yield
        finally:
            self.swap()

    def state_dict(self) -> dict[str, Tensor]:
        return dict(self.average)

    @torch.no_grad()
    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """`KeyError` unless it is the average of the same weights."""
        if state.keys() != self.average.keys():
            raise KeyError(f"it averages other weights: {min(state.keys() ^ self.average.keys())}")
        for name, mine in self.average.items():
            mine.copy_(scattered(state[name], mine))
