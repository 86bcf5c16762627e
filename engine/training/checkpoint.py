"""Checkpoints: model, learner, counters. Written whole or not at all, checked by digest when read."""

from __future__ import annotations

import hashlib
import json
import logging
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import torch

from engine.config import RunConfig
from engine.errors import CheckpointError
from engine.policies.adapter import adapter_state, add_adapter, load_adapter, merged_state, save_adapter
from engine.policies.hollow import OnlyWhole, hollow_model
from engine.policies.loading import LanguageModel, load_model, load_tokenizer
from engine.policies.policy_weights import whole, whole_state
from engine.policies.weight_files import write_tensors
from engine.training.learned import read_learned, write_together
from engine.training.learner import Learner
from engine.training.made_with import FILE, made_with, refuse_another, weights_of
from engine.training.sharding import Share

log = logging.getLogger(__name__)


@dataclass(slots=True, kw_only=True)
class Progress:
    """The counters of a run. Random streams are derived from the seed and `step`, so these are all their state."""

    step: int = 0
    tokens: int = 0
    seconds: float = 0.0
    evaluated: int = -1  # the newest step that was played on held-out problems
    ending: dict[str, Any] = field(default_factory=dict)  # of the last event, where a rule ends the run at this step
    detectors: dict[str, Any] = field(default_factory=dict)
    stds: dict[str, float] = field(default_factory=dict)  # smoothed, of the collapse diagnostics
    settings: dict[str, Any] = field(default_factory=dict)  # revision and changes that held, of `control.json`


def save(directory: Path, model: LanguageModel, tokenizer: Any, learner: Learner, progress: Progress) -> Path:
    """Writes `step_<n>` below `directory`; under that name it is always complete.

    `model` in it is a whole model for any program. With LoRA that is the model with its update added in, and training
    goes on from `adapter` instead, since adding rounds.
    """
    config = learner.config
    with _new(directory, tokenizer, config, progress) as part:
        if config.model.lora.rank:
            model.save_pretrained(part / "model", state_dict=merged_state(model))
            save_adapter(model, config.model.lora, part / "adapter", base=config.model.path)
        else:
            model.save_pretrained(part / "model")
        torch.save(learner.state_dict(), part / "learner.pt")
    return _named(directory, progress)


def save_together(
    directory: Path, tokenizer: Any, learner: Learner, progress: Progress, *, mold: LanguageModel | None = None
) -> Path:
    """The same of a model in shards. All learners call it and the first one writes; none has more of it whole at a time
    than a file takes. `mold` is a whole model that the first pours it into, for one whose files are not by the names of
    its weights."""
    model, config = learner.model, learner.config
    first = learner.share.rank == 0
    with _new(directory, tokenizer, config, progress) if first else nullcontext() as part:
        state = whole_state(model)
        if mold is not None and part is not None:
            places = mold.state_dict()
            for name, weight in state:
                places[name].copy_(weight)
            mold.save_pretrained(part / "model")
        else:
            write_tensors(part and part / "model", "model", state)
        adapter = adapter_state(model, whole)
        if part is not None and mold is None:
            model.config.save_pretrained(part / "model")
            model.generation_config.save_pretrained(part / "model")
        if part is not None and adapter:
            save_adapter(model, config.model.lora, part / "adapter", base=config.model.path, state=adapter)
        write_together(part, learner.state_dict())
    return _named(directory, progress)


@contextmanager
def _new(directory: Path, tokenizer: Any, config: RunConfig, progress: Progress) -> Iterator[Path]:
    """A folder that is under its name once all is in it."""
    target = _named(directory, progress)
    part = directory / f".{target.name}.part"
    shutil.rmtree(part, ignore_errors=True)
    part.mkdir(parents=True)
    yield part
    tokenizer.save_pretrained(part / "model")
    (part / FILE).write_text(json.dumps(made_with(config)))
    (part / "progress.json").write_text(json.dumps(asdict(progress)))
    digests = {str(file.relative_to(part)): _digest(file) for file in sorted(part.rglob("*")) if file.is_file()}
    (part / "manifest.json").write_text(json.dumps(digests, indent=1))
    for file in part.rglob("*"):
        _sync(file)
    shutil.rmtree(target, ignore_errors=True)
    part.replace(target)
    _sync(directory)


def _named(directory: Path, progress: Progress) -> Path:
    return directory / f"step_{progress.step}"


def prune(directory: Path, *, keep: int, spare_before: int = 0) -> None:
    """Removes all but the newest; of those before step `spare_before` the newest stays as well."""
    spared = [path for path in checkpoints(directory) if step_of(path) < spare_before][-1:]
    for old in checkpoints(directory)[:-keep]:
        if old not in spared:
            shutil.rmtree(old)


def step_of(path: Path) -> int:
    return int(path.name.removeprefix("step_"))


def checkpoints(directory: Path) -> list[Path]:
    """Complete checkpoints, oldest first."""
    return sorted(directory.glob("step_*"), key=step_of)


def newest_good(directory: Path) -> Path | None:
    """The newest checkpoint whose files have the digests that were written with them."""
    for path in reversed(checkpoints(directory)):
        if is_good(path):
            return path
    return None


def is_good(path: Path) -> bool:
    try:
        digests: dict[str, str] = json.loads((path / "manifest.json").read_text())
        return all(_digest(path / name) == digest for name, digest in digests.items())
    except (OSError, ValueError):
        return False


def load_learner(
    config: RunConfig,
    found: Path | None,
    *,
    device: str,
    share: Share | None = None,
    tell: Callable[[str], None] = log.warning,
) -> tuple[Any, Learner, Progress]:
    """Tokenizer, learner (and its model) and progress: from the checkpoint `found`, else from `config.model`.

    One of several learners reads its own part of the model; `tell` hears why, where it has to load it whole.
    """
    if found is not None:
        refuse_another(found, weights_of(config))
    load = partial(_load_hollow, tell=tell) if share is not None and share.size > 1 else load_policy
    model, tokenizer = load(config, found, device=device)
    start = None
    pulled = config.needs_reference
    if found is not None and not config.model.lora.rank and pulled:
        # the pull is to where the run began, not to where it was interrupted
        start, _ = load(config, None, device=device)
    learner = Learner(model, config, start=start, share=share)
    return tokenizer, learner, restore(found, learner) if found is not None else Progress()


def load_policy(config: RunConfig, found: Path | None, *, device: str) -> tuple[LanguageModel, Any]:
    """Model, with its adapter where it has one, and tokenizer."""
    path, adapter = _model_of(config, found)
    model, tokenizer = load_model(path, device=device)
    if config.model.lora.rank:
        add_adapter(model, config.model.lora)
        if adapter is not None:
            load_adapter(model, adapter)
    return model, tokenizer


def _load_hollow(
    config: RunConfig, found: Path | None, *, device: str, tell: Callable[[str], None]
) -> tuple[LanguageModel, Any]:
    """The same without weights, which are filled in once it is in shards."""
    path, adapter = _model_of(config, found)
    try:
        return hollow_model(path, device=device, lora=config.model.lora, adapter=adapter), load_tokenizer(path)
    except OnlyWhole as why:
        tell(f"each learner loads {path} whole before it is sharded, since {why}")
        return load_policy(config, found, device=device)


def _model_of(config: RunConfig, found: Path | None) -> tuple[str, Path | None]:
    """Where the model is, and the adapter that was trained beside it."""
    if found is None:
        return config.model.path, None
    return (config.model.path, found / "adapter") if config.model.lora.rank else (str(found / "model"), None)


def restore(path: Path, learner: Learner) -> Progress:
    """Loads the learner's state in place. Its model is loaded before that (`load_learner`)."""
    try:
        learner.load_state_dict(read_learned(path, learner))
        return Progress(**json.loads((path / "progress.json").read_text()))
    except (KeyError, ValueError, RuntimeError, TypeError) as error:
        raise CheckpointError(
            f"The checkpoint {path.name} does not fit this configuration: {error}",
            remedy="Resume with the configuration that the run began with.",
        ) from error


def adopt(path: Path, learner: Learner) -> None:
    """The optimiser's state of another run's checkpoint, and its critic if both have one, under the learner's own
    settings. The learner's weights are that checkpoint's already."""
    mine = learner.state_dict()
    learned = read_learned(path, learner)
    state = {name: learned.get(name, value) for name, value in mine.items()}
    try:
        for name in state.keys() & {"optimizer", "critic_optimizer"}:
            groups = zip(state[name]["param_groups"], mine[name]["param_groups"], strict=True)
            state[name]["param_groups"] = [
                {**theirs, **{key: ours[key] for key in ("lr", "weight_decay")}} for theirs, ours in groups
            ]
        learner.load_state_dict(state)
    except (KeyError, ValueError, RuntimeError) as error:
        raise CheckpointError(
            f"The optimiser's state of {path.name} does not fit this configuration: {error}",
            remedy="Set model.start_from.optimizer to false: the weights are taken and the optimiser starts fresh.",
        ) from error


def settings_of(path: Path | None) -> dict[str, Any]:
    """The changes of settings that held when the checkpoint was written, by dotted field."""
    if path is None:
        return {}
    try:
        changes: dict[str, Any] = json.loads((path / "progress.json").read_text())["settings"]["changes"]
        return changes
    except (KeyError, ValueError):
        return {}  # nothing had been changed


def size_of(path: Path) -> int:
    return sum(file.stat().st_size for file in path.rglob("*") if file.is_file())


def _digest(path: Path) -> str:
    with path.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
