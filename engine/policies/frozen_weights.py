"""Frozen weights in half the memory: the base under an adapter, and a reference model."""

from __future__ import annotations

import torch

from engine.policies.linear_layers import is_linear
from engine.policies.loading import LanguageModel


def halve_frozen(model: LanguageModel) -> None:
    """Keeps the frozen matrices of linear layers, in a body that computes in bfloat16, in that precision.

    Autocast would round them so at each use: results are the same, and so is what is saved of a model that was
    published in bfloat16. Embedding, head, norms, biases and experts stay in
    float32.
    """
    if getattr(model.base_model, "computes_in", torch.float32) != torch.bfloat16:
        return
    for part in model.base_model.modules():
        if is_linear(part) and not part.weight.requires_grad:
            part.weight.data = part.weight.data.to(torch.bfloat16)
