"""The learner's state in a checkpoint, except for the model: the optimiser's state, and the critic with its own.

One process writes `learner.pt`. Several write its tensors one at a time to separate files, since together they may not
fit on any machine; each reader loads its own shard. Either can be read by any number of processes.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from engine.policies.weight_files import stored_tensors, written_files
from engine.training.learner import Learner

NAME = "learner"
ELSEWHERE = "in a separate file"


def separate_tensors(state: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Tensor]]:
    """`state` without its tensors, and these by their paths; single numbers stay in it."""
    separate: dict[str, Tensor] = {}

    def take(path: str, leaf: Any) -> Any:
        if not isinstance(leaf, Tensor) or not leaf.dim():
            return leaf
        separate[path] = leaf
        return ELSEWHERE

    remaining: dict[str, Any] = with_leaves(state, take)
    return remaining, separate


def read_learner_state(folder: Path, learner: Learner) -> dict[str, Any]:
    """The unsharded state. For one of several learners, and from separate files, tensors are read lazily."""
    several = learner.share.size > 1
    device = torch.device("cpu") if several else learner.model.device
    state = torch.load(folder / f"{NAME}.pt", weights_only=True, map_location=device, mmap=several)
    stored = stored_tensors(written_files(folder, NAME))
    found: dict[str, Any] = with_leaves(state, lambda path, leaf: stored[path] if _is_elsewhere(leaf) else leaf)
    return found


def _is_elsewhere(leaf: Any) -> bool:
    return isinstance(leaf, str) and leaf == ELSEWHERE


def with_leaves(state: Any, change: Callable[[str, Any], Any], path: str = "") -> Any:
    """`state`, of nested dictionaries and lists, with `change(path, value)` applied to each leaf."""
    if isinstance(state, dict):
        return {key: with_leaves(value, change, f"{path}/{key}") for key, value in state.items()}
    if isinstance(state, list):
        return [with_leaves(value, change, f"{path}/{index}") for index, value in enumerate(state)]
    return change(path, state)
