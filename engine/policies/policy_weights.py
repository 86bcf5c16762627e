"""A learner's weights for samplers and files: unsharded, one at a time, under the names of the model's files.

A weight source, in the sense of `vllm.distributed.weight_transfer`.
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
from engine.policies.weight_checksums import Watch

Fetch = Callable[[Tensor], Tensor]


@dataclass(frozen=True, slots=True)
class WeightMeta:
    """Name, type and unsharded shape of a weight that is sent."""

    name: str
    dtype: torch.dtype
    shape: tuple[int, ...]


class PolicyWeights:
    """All weights in `dtype`, with an adapter merged. With several learners all of them iterate at the same time, since
    gathering a shard is a collective operation. `watch` is called with each weight; `fetch` gets a parameter, and what
    it returns is merged."""

    def __init__(
        self, model: nn.Module, dtype: torch.dtype, watch: Watch | None = None, *, fetch: Fetch | None = None
    ) -> None:
        self.model, self.dtype, self.watch, self.fetch = model, dtype, watch, fetch or whole
        self.layers = adapted(model)

    def metadata(self) -> list[WeightMeta]:
        """Gathers nothing and involves no other learner."""
        return [WeightMeta(name, self.dtype, tuple(weight.shape)) for name, weight, _ in self._parts()]

    def __iter__(self) -> Iterator[tuple[str, Tensor]]:
        for name, _, make in self._parts():
            weight = make().to(self.dtype).contiguous()
            if self.watch is not None:
                self.watch(name, weight)
            yield name, weight

    def largest(self) -> int:
        """Bytes of the largest weight."""
        return max(bytes_of(meta) for meta in self.metadata())

    def manifest(self) -> dict[str, Any]:
        """`metadata` in the form that a vLLM worker gets before the weights."""
        metas = self.metadata()
        return {
            "names": [meta.name for meta in metas],
            "dtype_names": [str(meta.dtype).removeprefix("torch.") for meta in metas],
            "shapes": [list(meta.shape) for meta in metas],
        }

    def _parts(self) -> Iterator[tuple[str, Tensor, Callable[[], Tensor]]]:
        """Name, weight, and the function that gathers it; the adapter's own weights are left out."""
        for name, weight in self.model.named_parameters():
            layer, inside, rest = name.partition(".base_layer.")
            if inside and rest == "weight" and layer in self.layers:
                yield f"{layer}.weight", weight, partial(merged_weight, self.layers[layer], self.fetch)
            elif inside:
                yield f"{layer}.{rest}", weight, partial(self.fetch, weight)
            elif not any(name.startswith(f"{adapted_layer}.") for adapted_layer in self.layers):
                yield name, weight, partial(self.fetch, weight)


def whole_state(
    model: nn.Module, watch: Watch | None = None, *, fetch: Fetch | None = None
) -> Iterator[tuple[str, Tensor]]:
    """Everything in a file of the model, in float32. Every learner that has a shard iterates over it."""
    yield from PolicyWeights(model, torch.float32, watch, fetch=fetch)
    kept = model.state_dict().keys()
    yield from ((name, buffer) for name, buffer in model.named_buffers() if name in kept)


def whole(weight: Tensor) -> Tensor:
    """The unsharded tensor. Every learner that has a shard calls this."""
    weight = weight.detach()
    return weight.full_tensor() if isinstance(weight, DTensor) else weight


def bytes_of(meta: WeightMeta) -> int:
    return int(torch.Size(meta.shape).numel() * meta.dtype.itemsize)
