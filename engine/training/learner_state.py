"""What a learner keeps beside its model, as a checkpoint has it: the optimiser's state, and the critic with its own.

One process writes `learner.pt`. Several write its tensors one after the other to files beside it, since together they
may be more than any machine holds; whoever reads them takes its own part. Either is read by any number of processes.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from engine.policies.policy_weights import whole
from engine.policies.weight_files import stored_tensors, write_tensors, written_files
from engine.training.learner import Learner

NAME = "learner"
BESIDE = "in a file beside this one"


def write_sharded_state(folder: Path | None, state: dict[str, Any]) -> None:
    """Every learner calls this with its own shards, and the first one alone with a folder."""
    apart: dict[str, Tensor] = {}

    def take(path: str, leaf: Any) -> Any:
        if not isinstance(leaf, Tensor) or not leaf.dim():
            return leaf
        apart[path] = leaf
        return BESIDE

    rest = _with_leaves(state, take)
    write_tensors(folder, NAME, ((path, whole(tensor)) for path, tensor in apart.items()))
    if folder is not None:
        torch.save(rest, folder / f"{NAME}.pt")


def read_learner_state(folder: Path, learner: Learner) -> dict[str, Any]:
    """Whole; for one of several learners, and where it is in files beside, no tensor is read before it is taken."""
    several = learner.share.size > 1
    place = torch.device("cpu") if several else learner.model.device
    state = torch.load(folder / f"{NAME}.pt", weights_only=True, map_location=place, mmap=several)
    beside = stored_tensors(written_files(folder, NAME))
    found: dict[str, Any] = _with_leaves(state, lambda path, leaf: beside[path] if _is_beside(leaf) else leaf)
    return found


def _is_beside(leaf: Any) -> bool:
    return isinstance(leaf, str) and leaf == BESIDE


def _with_leaves(state: Any, change: Callable[[str, Any], Any], path: str = "") -> Any:
    """`state` of dictionaries and lists, with what `change` makes of the path and the value of each leaf."""
    if isinstance(state, dict):
        return {key: _with_leaves(value, change, f"{path}/{key}") for key, value in state.items()}
    if isinstance(state, list):
        return [_with_leaves(value, change, f"{path}/{place}") for place, value in enumerate(state)]
    return change(path, state)
