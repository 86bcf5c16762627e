"""The reference model of a KL penalty: the model that the run started with."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Protocol

import torch
from torch import Tensor
from torch.distributed.tensor import DTensor

from engine.policies.adapter import NAME, adapter_off, adapter_parameters
from engine.policies.adapter_files import PREFIX, WEIGHTS
from engine.policies.loading import LanguageModel
from engine.policies.weight_files import stored_tensors
from engine.training.sharding import scattered


class Reference(Protocol):
    def model(self) -> AbstractContextManager[LanguageModel]:
        """The reference model, within the context."""


class FrozenCopy:
    """A second model in memory."""

    def __init__(self, frozen: LanguageModel) -> None:
        self.frozen = frozen.requires_grad_(False).eval()

    @contextmanager
    def model(self) -> Iterator[LanguageModel]:
        yield self.frozen


class AdapterOff:
    """The policy without its adapter, which takes no memory."""

    def __init__(self, policy: LanguageModel) -> None:
        self.policy = policy

    @contextmanager
    def model(self) -> Iterator[LanguageModel]:
        with adapter_off(self.policy):
            yield self.policy


class StartingAdapter:
    """The policy with the adapter in `directory`, which the run started from: it takes the memory of that adapter.

    The policy's weights are in place, sharded or not. They are exchanged bit by bit, so the same computation compares
    both; and behind autograd's back, since a forward pass of the policy may be waiting for its backward pass.
    """

    def __init__(self, policy: LanguageModel, directory: Path) -> None:
        self.policy = policy
        stored = stored_tensors([directory / WEIGHTS])
        self.pairs = [
            (weight, scattered(stored[PREFIX + name.replace(f".{NAME}.", ".")], weight))
            for name, weight in adapter_parameters(policy)
        ]

    @contextmanager
    def model(self) -> Iterator[LanguageModel]:
        self._exchange()
        try:
            yield self.policy
        finally:
            self._exchange()

    @torch.no_grad()
    def _exchange(self) -> None:
        for weight, start in self.pairs:
            mine, other = _local(weight), _local(start)
            kept = mine.clone()
            mine.copy_(other)
            other.copy_(kept)


def _local(weight: Tensor) -> Tensor:
    """This process's part, whose changes autograd does not see."""
    return (weight.to_local() if isinstance(weight, DTensor) else weight).data
