"""How several learner processes make one update: each takes some micro-batches; weights and optimiser state are
sharded.

Every process has the whole batch and makes the same choices, so all of them call the model equally often, as its
collective operations require: a process with fewer micro-batches repeats one with weight 0.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Protocol

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.distributed.tensor import DTensor

from engine.policies.loading import LanguageModel
from engine.policies.meta_model import WeightSource
from engine.policies.token_scores import allow_chunks
from engine.policies.weight_files import StoredTensor
from engine.training.materialize import local_shard, materialize


class Share(Protocol):
    """One process's part of an update. Gradients are averaged over processes, so losses are multiplied by `size`."""

    rank: int
    size: int

    def shard_model(self, model: LanguageModel) -> None:
        """Shards the weights, and materializes a meta model. To be called before an optimiser is created."""

    def shard_body(self, body: LanguageModel) -> None:
        """`shard_model` for a model without a head."""

    def split(self, parts: Sequence[Tensor]) -> list[tuple[Tensor, bool]]:
        """This process's micro-batches, and whether each counts; the same number in every process."""

    def sum(self, tensor: Tensor) -> Tensor:
        """The sum over processes, in place."""

    def total(self, sums: dict[str, float]) -> dict[str, float]:
        """Sums over processes; the maximum for names that end in `_max`."""

    def clip(self, parameters: Iterable[nn.Parameter], most: float) -> float:
        """Clips the whole gradient to the norm `most`; returns its norm before."""


class Alone:
    """One process, nothing sharded."""

    rank, size = 0, 1

    def shard_model(self, model: LanguageModel) -> None:
        pass

    def shard_body(self, body: LanguageModel) -> None:
        pass

    def split(self, parts: Sequence[Tensor]) -> list[tuple[Tensor, bool]]:
        return [(part, True) for part in parts]

    def sum(self, tensor: Tensor) -> Tensor:
        return tensor

    def total(self, sums: dict[str, float]) -> dict[str, float]:
        return sums

    def clip(self, parameters: Iterable[nn.Parameter], most: float) -> float:
        return float(torch.nn.utils.clip_grad_norm_(parameters, most))


class Sharded:
    """One of the processes of the default group of torch.distributed, with FSDP2 (`fully_shard`)."""

    def __init__(self) -> None:
        self.rank, self.size = dist.get_rank(), dist.get_world_size()

    def shard_model(self, model: LanguageModel) -> None:
        """Layer by layer. A tied embedding stays whole in each process, since two modules use it."""
        head, embedding = model.get_output_embeddings(), model.get_input_embeddings()
        tied = head.weight is embedding.weight
        _shard_layers(model.base_model, {head.weight} if tied else set())
        if not tied:
            _shard(head)
            allow_chunks(head)
        if source := _take_weight_source(model.base_model):
            materialize(model, source)

    def shard_body(self, body: LanguageModel) -> None:
        _shard_layers(body)
        if source := _take_weight_source(body):
            materialize(body, source, prefix=source.prefix)

    def split(self, parts: Sequence[Tensor]) -> list[tuple[Tensor, bool]]:
        rounds = -(-len(parts) // self.size)
        own = [(part, True) for part in parts[self.rank :: self.size]]
        return own + [(parts[0], False)] * (rounds - len(own))

    def sum(self, tensor: Tensor) -> Tensor:
        dist.all_reduce(tensor)
        return tensor

    def total(self, sums: dict[str, float]) -> dict[str, float]:
        gathered: list[Any] = [None] * self.size
        dist.all_gather_object(gathered, dict(sums))
        names = dict.fromkeys(name for one in gathered for name in one)
        return {
            name: (max if name.endswith("_max") else sum)(one[name] for one in gathered if name in one)
            for name in names
        }

    def clip(self, parameters: Iterable[nn.Parameter], most: float) -> float:
        """Sums the squares of shards over processes; unsharded gradients count once."""
        gradients = [weight.grad for weight in parameters if weight.grad is not None]
        whole = [gradient for gradient in gradients if not isinstance(gradient, DTensor)]
        shards = [gradient.to_local() for gradient in gradients if isinstance(gradient, DTensor)]
        for gradient in whole:
            dist.all_reduce(gradient)
            gradient /= self.size
        norm = (self.sum(_squares(shards, like=gradients)) + _squares(whole, like=gradients)).sqrt()
        factor = (most / (norm + 1e-6)).clamp(max=1.0)
        for gradient in [*whole, *shards]:
            gradient *= factor
        return float(norm)


def _take_weight_source(body: LanguageModel) -> WeightSource | None:
    """Removes and returns the source of a meta model's weights."""
    source: WeightSource | None = body.__dict__.pop("weight_source", None)
    return source


def _shard_layers(body: nn.Module, whole: set[nn.Parameter] | None = None) -> None:
    """Layers gather their weights in the precision that they compute in, which halves what bfloat16 sends and holds.
    Gradients are reduced in float32, and the embedding and the last norm are gathered in float32, as one process has
    them. So is every LayerNorm: on a CPU it takes no weights of another precision than its input."""
    kind = getattr(body, "computes_in", torch.float32)
    for part in body.children():
        if isinstance(part, nn.ModuleList):
            for layer in part:
                for norm in _layer_norms(layer) if kind != torch.float32 else ():
                    _shard(norm)
                _shard(layer, compute_in=kind)
    _shard(body, whole)


def _layer_norms(layer: nn.Module) -> list[nn.Module]:
    return [part for part in layer.modules() if isinstance(part, nn.LayerNorm)]


def _shard(module: nn.Module, whole: set[nn.Parameter] | None = None, compute_in: torch.dtype = torch.float32) -> None:
    from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard

    # activations stay as autocast has them, between layers in float32
    half = MixedPrecisionPolicy(param_dtype=compute_in, reduce_dtype=torch.float32, cast_forward_inputs=False)
    precision = MixedPrecisionPolicy() if compute_in == torch.float32 else half
    # reshard after every forward pass: one without a backward pass must not leave stale gathered weights
    fully_shard(module, reshard_after_forward=True, ignored_params=whole, mp_policy=precision)


def _squares(gradients: Sequence[Tensor], *, like: Sequence[Tensor]) -> Tensor:
    device = like[0].device if like else torch.device("cpu")
    norms = (torch.linalg.vector_norm(gradient) for gradient in gradients)  # takes no copy of a gradient
    return sum((norm.square() for norm in norms), torch.zeros((), device=device))


def scattered(whole: Tensor | StoredTensor, like: Tensor) -> Tensor:
    """This process's shard of `whole`, with the layout of `like`; all of it if `like` is not sharded."""
    if isinstance(whole, DTensor) or (isinstance(whole, Tensor) and not isinstance(like, DTensor)):
        return whole
    return local_shard(whole, like, like.device)


def scattered_optimizer(state: dict[str, Any], optimizer: torch.optim.Optimizer) -> dict[str, Any]:
    """This process's shard of an optimiser's unsharded state: tensors with the shape of their weight are sharded like
    it."""
    weights = [weight for group in optimizer.param_groups for weight in group["params"]]
    moments = {
        index: {
            name: scattered(value, weights[index]) if _has_shape(value, weights[index]) else value
            for name, value in of_weight.items()
        }
        for index, of_weight in state["state"].items()
    }
    return {**state, "state": moments}


def _has_shape(value: Any, weight: Tensor) -> bool:
    """Moments in 8 bits are in a dictionary with their scales, and not sharded."""
    return getattr(value, "shape", None) == weight.shape
