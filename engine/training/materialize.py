"""Loads the weights of a sharded meta model: each process reads only its own rows of each weight.

So no process holds the whole model, none waits for another, and an error in one does not block the others.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.distributed.tensor import DTensor

from engine.policies.meta_model import WeightSource
from engine.policies.weight_files import StoredTensor


def materialize(module: nn.Module, source: WeightSource, *, prefix: str = "") -> None:
    """In place. `prefix` completes the names in `module` to those of the whole model."""
    made: dict[int, nn.Parameter] = {}
    state: dict[str, Tensor] = {}
    for name, weight in module.named_parameters(remove_duplicate=False):
        if weight.is_meta:
            if id(weight) not in made:  # tied parameters stay tied
                whole = source.tensor(prefix + name, weight)
                made[id(weight)] = nn.Parameter(local_shard(whole, weight, source.device), weight.requires_grad)
            state[name] = made[id(weight)]
    for name, buffer in module.named_buffers():
        if prefix + name in source.stored:
            state[name] = local_shard(source.stored[prefix + name], buffer, source.device)
    module.load_state_dict(state, strict=False, assign=True)
    for part in module.modules():
        for name, buffer in part.named_buffers(recurse=False):
            setattr(part, name, buffer.to(source.device))


def local_shard(whole: Tensor | StoredTensor, like: Tensor, device: torch.device) -> Tensor:
    """A copy of this process's rows of `whole`, with the layout of `like`; all rows if `like` is not sharded."""
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
    """This process's rows of `like`'s first axis, in even parts that are rounded up, as in FSDP2."""
    each = -(-like.shape[0] // like.device_mesh.size())
    begin = min(like.device_mesh.get_local_rank() * each, like.shape[0])
    return slice(begin, min(begin + each, like.shape[0]))
