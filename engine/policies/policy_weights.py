"""A learner's weights as samplers and files take them: whole, one at a time, under the names of the model's files.

What `vllm.distributed.weight_transfer` calls a weight source; it asks for no more than this has.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from torch.distributed.tensor import DTensor

from engine.policies.adapter import adapted, merged_weight
from engine.policies.weight_sums import Watch


@dataclass(frozen=True, slots=True)
class Meta:
    """One weight as it is sent: not where it is a shard, but whole."""

    name: str
    dtype: torch.dtype
    shape: tuple[int, ...]


class PolicyWeights:
    """`dtype` is what they are sent in. Where a learner is one of several all of them walk through this at once, since
    to make a shard whole takes all of them. An adapter's update is added in. `watch` sees each as it is sent."""

    def __init__(self, model: nn.Module, dtype: torch.dtype, watch: Watch | None = None) -> None:
        self.model, self.dtype, self.watch = model, dtype, watch
        self.layers = adapted(model)

    def metadata(self) -> list[Meta]:
        """Sends nothing and asks no other learner."""
        return [Meta(name, self.dtype, tuple(weight.shape)) for name, weight, _ in self._parts()]

    def __iter__(self) -> Iterator[tuple[str, Tensor]]:
        for name, _, make in self._parts():
            weight = make().to(self.dtype).contiguous()
            if self.watch is not None:
                self.watch(name, weight)
            yield name, weight

    def largest(self) -> int:
        """Bytes of the largest of them."""
        return max(bytes_of(meta) for meta in self.metadata())

    def manifest(self) -> dict[str, Any]:
        """`metadata` as a vLLM worker is told of it before they come."""
        metas = self.metadata()
        return {
            "names": [meta.name for meta in metas],
            "dtype_names": [str(meta.dtype).removeprefix("torch.") for meta in metas],
            "shapes": [list(meta.shape) for meta in metas],
        }

    def _parts(self) -> Iterator[tuple[str, Tensor, Callable[[], Tensor]]]:
        """Name, weight, and what makes it whole; an adapter's own weights are no part of the model."""
        for name, weight in self.model.named_parameters():
            layer, inside, rest = name.partition(".base_layer.")
            if inside and rest == "weight" and layer in self.layers:
                yield f"{layer}.weight", weight, partial(merged_weight, self.layers[layer], whole)
            elif inside:
                yield f"{layer}.{rest}", weight, partial(whole, weight)
            elif not any(name.startswith(f"{adapted_layer}.") for adapted_layer in self.layers):
                yield name, weight, partial(whole, weight)


def whole_state(model: nn.Module, watch: Watch | None = None) -> Iterator[tuple[str, Tensor]]:
    """All that a file of the model holds, in float32. Every learner that has a shard walks through it."""
    yield from PolicyWeights(model, torch.float32, watch)
    kept = model.state_dict().keys()
    yield from ((name, buffer) for name, buffer in model.named_buffers() if name in kept)


def whole(weight: Tensor) -> Tensor:
    """Every learner that has a shard calls this."""
    weight = weight.detach()
    return weight.full_tensor() if isinstance(weight, DTensor) else weight


def bytes_of(meta: Meta) -> int:
    return int(torch.Size(meta.shape).numel() * meta.dtype.itemsize)
