"""Which modules are linear layers, as transformers has them."""

from __future__ import annotations

from torch import nn


def is_linear(part: nn.Module) -> bool:
    """GPT-2's `Conv1D` is one, with its weight stored as (in, out). Merged experts and their routers are not."""
    from transformers.pytorch_utils import Conv1D

    return isinstance(part, (nn.Linear, Conv1D))
