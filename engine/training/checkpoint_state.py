"""What a checkpoint is written from: the learner's state as it is, or a copy of it in main memory, from which one is
written while training goes on."""

from __future__ import annotations

from collections.abc import Generator
from copy import deepcopy
from dataclasses import dataclass, field, fields
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Protocol

from torch import Tensor

from engine.config import RunConfig
from engine.evaluation.checkpoint_model import AVERAGED, MODEL
from engine.policies.adapter import adapter_state, merged_state
from engine.policies.loading import LanguageModel
from engine.training.learner import Learner
from engine.training.learner_state import with_leaves
from engine.training.seen_problems import SeenProblems

FLOAT = 4  # bytes

State = dict[str, Tensor]
Models = Generator[tuple[str, State], None, None]


@dataclass(slots=True, kw_only=True)
class Progress:
    """The counters of a run. Random streams are derived from the seed and `step`, so they have no other state."""

    step: int = 0
    tokens: int = 0
    tokens_before: int = 0  # of a fork: those of the runs whose steps it continues
    seconds: float = 0.0
    evaluated: int = -1  # the last step that was evaluated on held-out problems
    held_out: dict[str, float] = field(default_factory=dict)  # success by step (JSON has no numbers as keys)
    ending: dict[str, Any] = field(
        default_factory=dict
    )  # fields of the final event, if a rule ends the run at this step
    tokens_per_forward: int = 0  # where memory is short; 0: as configured, or the device's default
    detectors: dict[str, Any] = field(default_factory=dict)
    stds: dict[str, float] = field(default_factory=dict)  # smoothed, of the collapse diagnostics
    settings: dict[str, Any] = field(default_factory=dict)  # the revision and the accepted changes from `control.json`
    problems: SeenProblems = field(default_factory=SeenProblems)  # that it has trained on; in a file of its own

    def counters(self) -> dict[str, Any]:
        """All fields but `problems`, as JSON."""
        return {name.name: getattr(self, name.name) for name in fields(self) if name.name != "problems"}

    def copy(self) -> Progress:
        return Progress(**deepcopy(self.counters()), problems=SeenProblems(self.problems.problems))


class SavesFiles(Protocol):
    """A tokenizer, or what wrote its files once."""

    def save_pretrained(self, folder: Path) -> Any: ...


class CheckpointState(Protocol):
    """What one process writes."""

    model: LanguageModel  # whose class and configuration the files name; not its weights
    config: RunConfig
    progress: Progress

    def models(self) -> Models:
        """Weights by folder. With LoRA the adapter is merged."""

    def adapter(self) -> State: ...

    def learner(self) -> dict[str, Any]: ...


class LiveState:
    """The state in place, which must not change meanwhile. Weights that are not held are computed as they are asked
    for, one model at a time."""

    def __init__(self, learner: Learner, progress: Progress) -> None:
        self._learner, self.progress = learner, progress
        self.model, self.config = learner.model, learner.config

    def models(self) -> Models:
        yield MODEL, self._weights()
        if self._learner.average is not None:
            with self._learner.average.in_place():
                yield AVERAGED, self._weights()

    def adapter(self) -> State:
        return adapter_state(self.model)

    def learner(self) -> dict[str, Any]:
        return self._learner.state_dict()

    def _weights(self) -> State:
        state: State = merged_state(self.model) if self.config.model.lora.rank else self.model.state_dict()
        return state


class CopiedState:
    """A copy, made as it is created. Nothing that trains on changes it."""

    def __init__(self, learner: Learner, progress: Progress) -> None:
        live, copies = LiveState(learner, progress), Copies(learner)
        self.model, self.config, self.progress = live.model, live.config, progress.copy()
        states = live.models() if self.config.model.lora.rank else _whole_models(learner)
        self._models = [
            (folder, {name: copies.of_weight(weight) for name, weight in weights.items()}) for folder, weights in states
        ]
        self._adapter = {name: copies.of(weight) for name, weight in live.adapter().items()}
        self._learner: dict[str, Any] = with_leaves(
            live.learner(), lambda _, leaf: copies.of(leaf) if isinstance(leaf, Tensor) else deepcopy(leaf)
        )

    def models(self) -> Models:
        for folder, weights in self._models:
            yield folder, dict(weights)  # transformers takes out what it has written

    def adapter(self) -> State:
        return self._adapter

    def learner(self) -> dict[str, Any]:
        return self._learner


def _whole_models(learner: Learner) -> Models:
    """Without an adapter: the averaged weights where they are, since to put them in place takes as long as a copy."""
    weights = learner.model.state_dict()
    yield MODEL, weights
    if learner.average is not None:
        trained, average = learner.average.trained, learner.average.average
        by_address = {weight.data_ptr(): average[name] for name, weight in trained.items()}
        yield AVERAGED, {name: by_address.get(weight.data_ptr(), weight) for name, weight in weights.items()}


class Copies:
    """Copies of tensors in main memory. Tensors at the same address, such as tied weights, share one."""

    def __init__(self, learner: Learner) -> None:
        model, average = learner.model, learner.average
        held = [*model.parameters(), *model.buffers(), *(average.average.values() if average is not None else ())]
        frozen = {weight.data_ptr() for weight in model.parameters() if _stays(weight)}
        self._held = {tensor.data_ptr() for tensor in held} - frozen
        self._made: dict[tuple[Any, ...], tuple[Tensor, Tensor]] = {}

    def of(self, tensor: Tensor) -> Tensor:
        address = (tensor.device, tensor.data_ptr(), tensor.dtype, tensor.shape, tensor.stride())
        if address not in self._made:  # kept with its copy, so that no other tensor gets its address
            self._made[address] = (tensor, tensor.detach().to("cpu", copy=True))
        return self._made[address][1]

    def of_weight(self, weight: Tensor) -> Tensor:
        """Frozen weights in main memory need no copy, and merged ones were just computed."""
        return self.of(weight) if weight.data_ptr() in self._held else weight.detach().cpu()


def _stays(weight: Tensor) -> bool:
    return not weight.requires_grad and weight.device.type == "cpu"


def bytes_to_copy(learner: Learner) -> int:
    """What `CopiedState` takes of main memory, at most."""
    sizes: list[int] = []
    with_leaves(learner.state_dict(), lambda _, leaf: sizes.append(leaf.nbytes if isinstance(leaf, Tensor) else 0))
    models = 2 if learner.average is not None and learner.config.model.lora.rank else 1
    weights: int = sum(weight.numel() for weight in learner.model.parameters())
    return sum(sizes) + models * FLOAT * weights


class TokenizerFiles:
    """The files of a tokenizer, written once: a tokenizer that is in use must not be saved by another thread."""

    def __init__(self, tokenizer: Any) -> None:
        with TemporaryDirectory() as folder:
            tokenizer.save_pretrained(folder)
            self._files = {file.relative_to(folder): file.read_bytes() for file in files_below(Path(folder))}

    def save_pretrained(self, folder: Path) -> None:
        for name, data in self._files.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(data)


def files_below(folder: Path) -> list[Path]:
    return sorted(file for file in folder.rglob("*") if file.is_file())
