"""Matrices rounded to bfloat16 once for a rollout, instead of at each of its forward passes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn

from engine.policies.linear_layers import is_linear
from engine.policies.loading import LanguageModel

NAMES = ("weight", "bias")


@contextmanager
def rounded_once(model: LanguageModel) -> Iterator[None]:
    """Within it, the linear layers of a body that computes in bfloat16 have copies of their float32 weights in that
    precision: 2 bytes for each number, freed at the end. Nothing is done to a body that computes in float32.

    Autocast would round the same weights at each use, so results are equal to the bit. The copies have no gradient: the
    optimiser's own weights are back when it is left, however that happens.
    """
    replaced: list[tuple[nn.Module, str, nn.Parameter]] = []
    try:
        for part, name, weight in _float32_weights(model):
            replaced.append((part, name, weight))
            setattr(part, name, nn.Parameter(_rounded(weight), requires_grad=False))
        yield
    finally:
        for part, name, weight in replaced:
            setattr(part, name, weight)


def _float32_weights(model: LanguageModel) -> list[tuple[nn.Module, str, nn.Parameter]]:
    if getattr(model.base_model, "computes_in", torch.float32) != torch.bfloat16:
        return []
    linear = [part for part in model.base_model.modules() if is_linear(part)]
    own = [(part, name, part._parameters.get(name)) for part in linear for name in NAMES]
    return [(part, name, weight) for part, name, weight in own if weight is not None and weight.dtype == torch.float32]


@torch.no_grad()
def _rounded(weight: Tensor) -> Tensor:
    return weight.detach().to(torch.bfloat16)
