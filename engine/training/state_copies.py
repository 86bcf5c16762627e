"""Copies of the learner's state in main memory, from which a checkpoint is written while training goes on."""

from __future__ import annotations

from collections.abc import Iterable
from copy import deepcopy
from typing import Any

from torch import Tensor

from engine.evaluation.checkpoint_model import AVERAGED, MODEL
from engine.policies.adapter import adapted, adapter_state, merged_state
from engine.policies.loading import LanguageModel
from engine.policies.model_shape import FILE_BYTES
from engine.policies.module_copies import module_with
from engine.policies.policy_weights import whole_state
from engine.training.checkpoint_state import CheckpointState, Models, Progress, State, Weights
from engine.training.learner import Learner, trainable_parameters
from engine.training.learner_state import with_leaves

FLOAT = 4  # bytes


def copied_state(learner: Learner, progress: Progress) -> CheckpointState:
    """Nothing that trains on changes it."""
    return (CopiedAdapter if learner.config.model.lora.rank else CopiedWeights)(learner, progress)


class CopiedWeights:
    """Of a model that trains as a whole."""

    def __init__(self, learner: Learner, progress: Progress) -> None:
        self.model, self.config, self.progress = learner.model, learner.config, progress.copy()
        copies = Copies()
        self._models = [
            (folder, {name: copies.of(weight) for name, weight in weights.items()})
            for folder, weights in _whole_models(learner)
        ]
        self._learner = copies.of_state(learner)

    def models(self) -> Models:
        for folder, weights in self._models:
            yield folder, dict(weights)  # transformers takes out what it has written

    def adapter(self) -> State:
        return {}

    def learner(self) -> dict[str, Any]:
        return self._learner


def _whole_models(learner: Learner) -> list[tuple[str, State]]:
    """The averaged weights where they are, since to put them in place takes as long as a copy."""
    weights = learner.model.state_dict()
    if learner.average is None:
        return [(MODEL, weights)]
    trained, average = learner.average.trained, learner.average.average
    by_address = {weight.data_ptr(): average[name] for name, weight in trained.items()}
    averaged = {name: by_address.get(weight.data_ptr(), weight) for name, weight in weights.items()}
    return [(MODEL, weights), (AVERAGED, averaged)]


class CopiedAdapter:
    """Of a model that trains an adapter: only that is copied. The frozen weights, which nothing changes, are merged
    with the copy as they are written."""

    def __init__(self, learner: Learner, progress: Progress) -> None:
        self.config, self.progress = learner.config, progress.copy()
        self._one_by_one = learner.merges_one_by_one
        copies, average = Copies(), learner.average
        frozen = {id(weight) for weight in learner.model.parameters() if not weight.requires_grad}

        def copied(weight: Tensor) -> Tensor:
            return weight if id(weight) in frozen else copies.of(weight)

        self.model = module_with(learner.model, copied)
        self._averaged: LanguageModel | None = None
        if average is not None:
            averaged = {id(weight): average.average[name] for name, weight in average.trained.items()}
            self._averaged = module_with(learner.model, lambda weight: copied(averaged.get(id(weight), weight)))
        self._learner = copies.of_state(learner)

    def models(self) -> Models:
        yield MODEL, self._merged(self.model)
        if self._averaged is not None:
            yield AVERAGED, self._merged(self._averaged)

    def adapter(self) -> State:
        return adapter_state(self.model)

    def learner(self) -> dict[str, Any]:
        return self._learner

    def _merged(self, model: LanguageModel) -> Weights:
        return whole_state(model, fetch=in_main_memory) if self._one_by_one else merged_state(model, in_main_memory)


def in_main_memory(weight: Tensor) -> Tensor:
    """Where the copies are, so that a GPU is left to training."""
    return weight.detach().cpu()


class Copies:
    """Copies of tensors in main memory. Tensors at the same address, such as tied weights, share one."""

    def __init__(self) -> None:
        self._made: dict[tuple[Any, ...], tuple[Tensor, Tensor]] = {}

    def of(self, tensor: Tensor) -> Tensor:
        address = (tensor.device, tensor.data_ptr(), tensor.dtype, tensor.shape, tensor.stride())
        if address not in self._made:  # kept with its copy, so that no other tensor gets its address
            self._made[address] = (tensor, tensor.detach().to("cpu", copy=True))
        return self._made[address][1]

    def of_state(self, learner: Learner) -> dict[str, Any]:
        """What training resumes from, besides the model."""
        state: dict[str, Any] = with_leaves(
            learner.state_dict(), lambda _, leaf: self.of(leaf) if isinstance(leaf, Tensor) else deepcopy(leaf)
        )
        return state


def bytes_to_copy(learner: Learner) -> int:
    """What such a copy takes of main memory, with what merging takes while it is written, at most."""
    copied: list[Tensor] = list(trainable_parameters(learner.model))
    with_leaves(learner.state_dict(), lambda _, leaf: copied.append(leaf) if isinstance(leaf, Tensor) else None)
    return sum(tensor.nbytes for tensor in copied) + _bytes_to_merge(learner)


def _bytes_to_merge(learner: Learner) -> int:
    """With an adapter: all merged matrices, or what one file holds and one weight more, of all that is not in main
    memory as float32 already."""
    bases = {id(layer.get_base_layer().weight): layer.get_base_layer().weight for layer in _adapted(learner)}
    if not learner.merges_one_by_one:
        return FLOAT * sum(int(weight.numel()) for weight in bases.values())
    frozen = [weight for weight in learner.model.parameters() if not weight.requires_grad]
    made: list[int] = [
        FLOAT * weight.numel()
        for weight in frozen
        if id(weight) in bases or weight.device.type != "cpu" or weight.element_size() != FLOAT
    ]
    return min(sum(made), FILE_BYTES + max(made, default=0))


def _adapted(learner: Learner) -> Iterable[Any]:
    return adapted(learner.model).values() if learner.config.model.lora.rank else ()
