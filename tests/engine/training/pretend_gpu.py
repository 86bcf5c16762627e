"""A GPU that is none: tensors that say they are on one, and refuse to meet others as a real GPU's would.

Everything is computed on the CPU. Checked is what the code does with devices, not what a GPU does with the code.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode
from torch.utils._pytree import tree_leaves, tree_map_only

GPU = torch.device("cuda", 0)


class Far(Tensor):
    """A tensor of the pretended GPU."""

    @property
    def device(self) -> torch.device:  # type: ignore[override]
        return GPU


class OtherDevice(Exception):
    """What a real GPU says of tensors on two devices."""


class PretendGpu(TorchFunctionMode):
    def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = getattr(function, "__name__", "")
        if name == "__get__" or function is Tensor.as_subclass:
            return function(*args, **(kwargs or {}))
        args, kwargs, target = _without_device(name, args, dict(kwargs or {}))
        if target is None:
            _check(name, args, kwargs)
            return function(*args, **kwargs)
        near = tree_map_only(Far, lambda tensor: tensor.as_subclass(Tensor), (args, kwargs))
        made = function(*near[0], **near[1])
        return tree_map_only(Tensor, lambda tensor: tensor.as_subclass(Far), made) if target == "cuda" else made


def _without_device(name: str, args: Any, kwargs: dict[str, Any]) -> tuple[Any, dict[str, Any], str | None]:
    """The call as the CPU can do it, and where its result is to be: None where it says nothing of that."""
    if name in ("cpu", "cuda") and isinstance(args[0], Tensor):
        return args, {}, name
    if kwargs.get("device") is not None:
        target = torch.device(kwargs.pop("device")).type
        return args, kwargs, target
    if name == "to" and len(args) > 1:
        for index, one in enumerate(args):
            if isinstance(one, torch.device) or (isinstance(one, str) and one.startswith(("cpu", "cuda"))):
                return (*args[:index], *args[index + 1 :]), kwargs, torch.device(one).type
            if isinstance(one, Tensor) and index:
                return args, kwargs, one.device.type
    return args, kwargs, None


def _check(name: str, args: Any, kwargs: Any) -> None:
    tensors = [one for one in tree_leaves((args, kwargs)) if isinstance(one, Tensor)]
    if name == "copy_" or not any(isinstance(one, Far) for one in tensors):
        return
    if name in ("__getitem__", "__setitem__") and isinstance(args[0], Far):
        tensors = [one for one in tree_leaves(args[2:]) if isinstance(one, Tensor)]  # indices may be on the CPU
    if near := [one for one in tensors if not isinstance(one, Far) and one.dim()]:
        raise OtherDevice(f"{name}: a tensor of {tuple(near[0].shape)} is on the CPU, and others are on the GPU")


def move(module: nn.Module) -> None:
    """In index, so that an optimiser which holds the weights holds them still."""
    for weight in module.parameters():
        weight.__class__, weight._is_param = Far, True
    for buffer in module.buffers():
        buffer.__class__ = Far


@contextmanager
def pretend_gpu() -> Iterator[None]:
    """Optimisers are torch's own: gradients, which say nothing of where they are, are let through to them."""
    step = torch.optim.AdamW.step

    def unchecked(self: Any, *args: Any) -> Any:
        for group in self.param_groups:
            group["fused"] = False  # its kernel would allocate on the GPU
        with torch._C.DisableTorchFunction():
            return step(self, *args)

    torch.optim.AdamW.step = unchecked  # type: ignore[method-assign]
    try:
        with PretendGpu():
            yield
    finally:
        torch.optim.AdamW.step = step  # type: ignore[method-assign]
