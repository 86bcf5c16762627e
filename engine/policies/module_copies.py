"""A model whose names and weights another thread reads while the model itself trains."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Any, TypeVar

from torch import Tensor, nn

Module = TypeVar("Module", bound=nn.Module)


def module_with(module: Module, replace: Callable[[Tensor], Tensor], made: dict[int, Any] | None = None) -> Module:
    """A module with the names of `module`, and `replace(parameter)` as its parameters, to be read by another thread: it
    shares neither parameters nor hooks. FSDP's modules cannot be copied by `copy`, and this one is not for computing.
    """
    made = {} if made is None else made
    if id(module) in made:
        found: Module = made[id(module)]
        return found
    new: Module = object.__new__(type(module))
    made[id(module)] = new
    new.__dict__.update(module.__dict__)
    new.__dict__.update(_state_dict_hooks=OrderedDict(), _state_dict_pre_hooks=OrderedDict())  # FSDP's would reshard
    new.__dict__["_parameters"] = {name: _parameter(one, replace, made) for name, one in module._parameters.items()}
    new.__dict__["_modules"] = {
        name: part if part is None else module_with(part, replace, made) for name, part in module._modules.items()
    }
    return new


def _parameter(weight: Tensor | None, replace: Callable[[Tensor], Tensor], made: dict[int, Any]) -> Any:
    """Tied weights stay tied."""
    if weight is not None and id(weight) not in made:
        made[id(weight)] = nn.Parameter(replace(weight), requires_grad=weight.requires_grad)
    return None if weight is None else made[id(weight)]
