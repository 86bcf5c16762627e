"""How many bytes autograd saves for the backward pass."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.utils._pytree import tree_leaves

from engine.policies.loading import LanguageModel, run_body


def saved_by_layers(model: LanguageModel, ids: Tensor) -> int:
    """Bytes that the decoder's layers save in a forward pass of `ids` (B, T): of each storage once, without parameters
    and what all layers are given, such as the angles of positions."""
    body = model.base_model
    (layers,) = [part for part in body.children() if isinstance(part, nn.ModuleList)]
    known = {_address(tensor) for tensor in (*model.parameters(), *model.buffers())}
    saved: dict[int, int] = {}
    within: list[nn.Module] = []

    def enter(layer: nn.Module, _: Any, given: dict[str, Any]) -> None:
        known.update(_address(leaf) for leaf in tree_leaves(given) if isinstance(leaf, Tensor))
        within.append(layer)

    def leave(*_: Any) -> None:
        within.clear()

    def save(tensor: Tensor) -> Tensor:
        if within and (address := _address(tensor)) not in known:
            saved[address] = tensor.untyped_storage().nbytes()
        return tensor

    for layer in layers:
        layer.register_forward_pre_hook(enter, with_kwargs=True)
        layer.register_forward_hook(leave)
    with torch.autograd.graph.saved_tensors_hooks(save, lambda tensor: tensor):
        held = run_body(body, input_ids=ids, use_cache=False)
    del held  # until here no address is used again
    return sum(saved.values())


def _address(tensor: Tensor) -> int:
    return tensor.untyped_storage()._cdata
