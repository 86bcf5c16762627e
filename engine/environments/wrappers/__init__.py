"""Wrappers: layers around an environment that change what it shows, takes or pays. Each is a class with its settings.

`Layer` is the union of their settings; the first of a list is the innermost. Importing this package loads no torch.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from pydantic import Field

from engine.environments.base import Environment
from engine.environments.wrappers.actions import ActionMask, ActionNoise, TimeLimit
from engine.environments.wrappers.observations import History
from engine.environments.wrappers.rewards import RewardShaping, StepPenalty
from engine.section import union_variants

Layer = Annotated[
    History | RewardShaping | StepPenalty | ActionNoise | TimeLimit | ActionMask, Field(discriminator="type")
]
LAYERS = union_variants(Layer)


def wrapped(environment: Environment, layers: Sequence[Layer]) -> Environment:
    """`environment` within its layers, the first of them innermost."""
    for layer in layers:
        environment = layer.wrap(environment)
    return environment
