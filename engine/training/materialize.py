"""Gives a hollow model that was cut into shards its weights: each process reads its own rows of each, and no more.

So none holds a whole model, none waits for another, and one that is alone in failing fails alone.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.distributed.tensor import DTensor

from engine.policies.meta_model import WeightSource
from engine.policies.weight_files import StoredTensor


def fill(module: nn.Module, source: WeightSource, *, prefix: str = "") -> None:
    """In place. `prefix` is what the names of `module` lack to be those of the whole model."""
    made: dict[int, nn.Parameter] = {}
    state: dict[str, Tensor] = {}
    for name, weight in module.named_parameters(remove_duplicate=False):
        if weight.is_meta:
            if id(weight) not in made:  # a head that is its embedding stays so
                whole = source.tensor(prefix + name, weight)
                made[id(weight)] = nn.Parameter(part_of(whole, weight, source.device), weight.requires_grad)
            state[name] = made[id(weight)]
    for name, buffer in module.named_buffers():
        if prefix + name in source.stored:
            state[name] = part_of(source.stored[prefix + name], buffer, source.device)
    module.load_state_dict(state, strict=False, assign=True)
    for part in module.modules():
        for name, kept in part.named_buffers(recurse=False):
            setattr(part, name, kept.to(source.device))


def part_of(whole: Tensor | StoredTensor, like: Tensor, device: torch.device) -> Tensor:
    """A copy of the rows of `whole` that this process has of `like`, laid out as it; all, where that is no shard."""
    if not isinstance(like, DTensor):
        return whole[:].to(device, like.dtype, copy=True)
    rows = own_rows(like)
    part = whole[rows] if rows.start < rows.stop else torch.empty(0, *like.shape[1:])
    return DTensor.from_local(
        part.to(device, like.dtype, copy=True),
        like.device_mesh,
        like.placements,
        run_check=False,
        shape=like.shape,
        stride=like.stride(),
    )


def own_rows(like: DTensor) -> slice:
    """Which rows of `like`'s first axis this process has, in even parts that are rounded up, as FSDP2 cuts them."""
    each = -(-like.shape[0] // like.device_mesh.size())
    begin = min(like.device_mesh.get_local_rank() * each, like.shape[0])
    return slice(begin, min(begin + each, like.shape[0]))
