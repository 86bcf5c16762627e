"""What several learners write of a sharded model, tensor by tensor: all of them gather each, and the first one writes
it. From the shards in place, or from copies of them in main memory, from which a checkpoint is written while training
goes on.
"""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from typing import Any, NamedTuple, Protocol

import torch.distributed as dist
from torch import Tensor
from torch.distributed.device_mesh import DeviceMesh
from torch.distributed.tensor import DTensor

from engine.config import RunConfig
from engine.evaluation.checkpoint_model import AVERAGED, MODEL
from engine.policies.adapter import adapter_parameters
from engine.policies.loading import LanguageModel
from engine.policies.module_copies import module_with
from engine.policies.policy_weights import whole, whole_state
from engine.training.checkpoint_state import Progress
from engine.training.learner import Learner
from engine.training.learner_state import NAME as LEARNER
from engine.training.learner_state import separate_tensors, with_leaves

ADAPTER = "adapter"


class Gathered(NamedTuple):
    """A whole tensor, and what it is a part of: a model, the adapter or the learner's state."""

    part: str
    name: str
    tensor: Tensor


class ShardedState(Protocol):
    """One learner's part."""

    model: LanguageModel  # whose class, names and configuration the files have
    config: RunConfig
    progress: Progress
    remaining: dict[str, Any]  # of the learner's state: what is no tensor with axes

    @property
    def group(self) -> dist.ProcessGroup | None:
        """Of the learners that gather; None is the default group."""

    def gathered(self) -> Iterator[Gathered]:
        """Part by part. All learners iterate at the same time."""


class LiveShards:
    """The shards in place, which must not change meanwhile."""

    group = None

    def __init__(self, learner: Learner, progress: Progress) -> None:
        self._learner, self.progress = learner, progress
        self.model, self.config = learner.model, learner.config
        self.remaining, self._tensors = separate_tensors(learner.state_dict())

    def gathered(self) -> Iterator[Gathered]:
        yield from _of_model(MODEL, self.model)
        if self._learner.average is not None:
            with self._learner.average.in_place():
                yield from _of_model(AVERAGED, self.model)
        yield from _of_rest(self.model, self._tensors)


class CopiedShards:
    """Copies of the shards, made as it is created. Nothing that trains on changes them.

    `mesh` is that of a process group of its own, on CPUs: whatever iterates over `gathered`, in all learners, does so
    without meeting the collective operations of training.
    """

    def __init__(self, learner: Learner, progress: Progress, mesh: DeviceMesh) -> None:
        copies = ShardCopies(mesh)
        self.group, self.config, self.progress = mesh.get_group(), learner.config, progress.copy()
        self.model = module_with(learner.model, copies.of_weight)
        self._averaged: LanguageModel | None = None
        if learner.average is not None:
            trained, average = learner.average.trained, learner.average.average
            averaged = {id(weight): average[name] for name, weight in trained.items()}
            self._averaged = module_with(
                learner.model,
                lambda weight: copies.of(averaged[id(weight)]) if id(weight) in averaged else copies.of_weight(weight),
            )
        copied = with_leaves(
            learner.state_dict(), lambda _, leaf: copies.of(leaf) if isinstance(leaf, Tensor) else deepcopy(leaf)
        )
        self.remaining, self._tensors = separate_tensors(copied)

    def gathered(self) -> Iterator[Gathered]:
        yield from _of_model(MODEL, self.model)
        if self._averaged is not None:
            yield from _of_model(AVERAGED, self._averaged)
        yield from _of_rest(self.model, self._tensors)


def _of_model(part: str, model: LanguageModel) -> Iterator[Gathered]:
    return (Gathered(part, name, weight) for name, weight in whole_state(model))


def _of_rest(model: LanguageModel, tensors: dict[str, Tensor]) -> Iterator[Gathered]:
    yield from (Gathered(ADAPTER, name, whole(weight)) for name, weight in adapter_parameters(model))
    yield from (Gathered(LEARNER, name, whole(tensor)) for name, tensor in tensors.items())


class ShardCopies:
    """Copies of shards in main memory, one of each tensor. What every learner has whole, such as a tied embedding, only
    the first one copies, since it writes that."""

    def __init__(self, mesh: DeviceMesh) -> None:
        self._mesh, self._first = mesh, mesh.get_rank() == 0
        self._made: dict[int, tuple[Tensor, Tensor]] = {}  # with the original, so that no other one gets its id

    def of(self, tensor: Tensor) -> Tensor:
        if not _is_copied(tensor, first=self._first):
            return tensor.detach()
        if id(tensor) not in self._made:
            self._made[id(tensor)] = (tensor, self._shard(tensor, _own(tensor).to("cpu", copy=True)))
        return self._made[id(tensor)][1]

    def of_weight(self, weight: Tensor) -> Tensor:
        return self._shard(weight, _own(weight)) if stays(weight) else self.of(weight)

    def _shard(self, like: Tensor, own: Tensor) -> Tensor:
        if not isinstance(like, DTensor):
            return own
        return DTensor.from_local(
            own, self._mesh, like.placements, run_check=False, shape=like.shape, stride=like.stride()
        )


def bytes_of_shards(learner: Learner) -> int:
    """What `CopiedShards` takes of main memory, at most."""
    held = [weight for weight in learner.model.parameters() if not stays(weight)]
    with_leaves(learner.state_dict(), lambda _, leaf: held.append(leaf) if isinstance(leaf, Tensor) else None)
    first = learner.share.rank == 0
    return sum(_own(tensor).nbytes for tensor in held if _is_copied(tensor, first=first))


def _is_copied(tensor: Tensor, *, first: bool) -> bool:
    return first or isinstance(tensor, DTensor)


def stays(weight: Tensor) -> bool:
    """Frozen weights in main memory need no copy."""
    return not weight.requires_grad and weight.device.type == "cpu"


def _own(tensor: Tensor) -> Tensor:
    return tensor.to_local().detach() if isinstance(tensor, DTensor) else tensor.detach()
