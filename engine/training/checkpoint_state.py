"""What a checkpoint is written from: the learner's state in place (for copies see `engine.training.state_copies`)."""

from __future__ import annotations

from collections.abc import Generator, Iterator
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
from engine.policies.policy_weights import whole_state
from engine.training.learner import Learner
from engine.training.seen_problems import SeenProblems

State = dict[str, Tensor]
Weights = State | Iterator[tuple[str, Tensor]]
Models = Generator[tuple[str, Weights], None, None]


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
        """Weights by folder. With LoRA the adapter is merged, one weight at a time where the model's files have its own
        names."""

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

    def _weights(self) -> Weights:
        if not self.config.model.lora.rank:
            state: State = self.model.state_dict()
            return state
        return whole_state(self.model) if self._learner.merges_one_by_one else merged_state(self.model)


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
