"""Wrappers: layers around an environment that change its observations, actions or rewards.

Each is a class with its settings. `Layer` is the union of their settings; the first of a list is the innermost.
Importing this package loads no torch.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from engine.environments.wrappers.settings import LAYERS, Layer

if TYPE_CHECKING:
    from engine.environments.base import Environment

__all__ = ["LAYERS", "Layer", "wrapped"]


def wrapped(environment: Environment, layers: Sequence[Layer]) -> Environment:
    """`environment` within its layers, the first of them innermost."""
    for layer in layers:
        environment = layer.wrap(environment)
    return environment
