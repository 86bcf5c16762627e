"""Checkpoints: model, learner, counters. Written whole or not at all, checked by digest when read."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import torch

from engine.config import RunConfig
from engine.errors import CheckpointError
from engine.policies.adapter import add_adapter, load_adapter, merged_state, save_adapter
from engine.policies.loading import LanguageModel, load_model
from engine.training.learner import Learner
from engine.training.sharding import Share


@dataclass(slots=True, kw_only=True)
class Progress:
    """The counters of a run. Random streams are derived from the seed and `step`, so these are all their state."""

    step: int = 0
    tokens: int = 0
    seconds: float = 0.0
    detectors: dict[str, Any] = field(default_factory=dict)
    spreads: dict[str, float] = field(default_factory=dict)  # smoothed, of the collapse diagnostics
    settings: dict[str, Any] = field(default_factory=dict)  # revision and changes that held, of `control.json`


def save(directory: Path, model: LanguageModel, tokenizer: Any, learner: Learner, progress: Progress) -> Path:
    return write(directory, model, tokenizer, learner.config, learner.state_dict(), progress)


def write(
    directory: Path,
    model: LanguageModel,
    tokenizer: Any,
    config: RunConfig,
    learned: dict[str, Any],
    progress: Progress,
) -> Path:
    """Writes `step_<n>` below `directory`; under that name it is always complete. `learned` is the learner's state.

    `model` in it is a whole model for any program. With LoRA that is the model with its update added in, and training
    goes on from `adapter` instead, since adding rounds.
    """
    target = directory / f"step_{progress.step}"
    part = directory / f".step_{progress.step}.part"
    shutil.rmtree(part, ignore_errors=True)
    part.mkdir(parents=True)
    if config.model.lora.rank:
        model.save_pretrained(part / "model", state_dict=merged_state(model))
        save_adapter(model, config.model.lora, part / "adapter", base=config.model.path)
    else:
        model.save_pretrained(part / "model")
    tokenizer.save_pretrained(part / "model")
    torch.save(learned, part / "learner.pt")
    (part / "made_with.json").write_text(json.dumps(_what_must_match(config)))
    (part / "progress.json").write_text(json.dumps(asdict(progress)))
    digests = {str(file.relative_to(part)): _digest(file) for file in sorted(part.rglob("*")) if file.is_file()}
    (part / "manifest.json").write_text(json.dumps(digests, indent=1))
    for file in part.rglob("*"):
        _sync(file)
    shutil.rmtree(target, ignore_errors=True)
    part.replace(target)
    _sync(directory)
    return target


def prune(directory: Path, *, keep: int) -> None:
    for old in checkpoints(directory)[:-keep]:
        shutil.rmtree(old)


def checkpoints(directory: Path) -> list[Path]:
    """Complete checkpoints, oldest first."""
    return sorted(directory.glob("step_*"), key=lambda path: int(path.name.removeprefix("step_")))


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
    config: RunConfig, found: Path | None, *, device: str, share: Share | None = None
) -> tuple[Any, Learner, Progress]:
    """Tokenizer, learner (and its model) and progress: from the checkpoint `found`, else from `config.model`."""
    if found is not None:
        _check_match(found, config)
    model, tokenizer = load_policy(config, found, device=device)
    start = None
    if found is not None and not config.model.lora.rank and config.loss.kl_coefficient > 0:
        # the pull is to where the run began, not to where it was interrupted
        start, _ = load_model(config.model.path, device=device)
    learner = Learner(model, config, start=start, share=share)
    return tokenizer, learner, restore(found, learner) if found is not None else Progress()


def load_policy(config: RunConfig, found: Path | None, *, device: str) -> tuple[LanguageModel, Any]:
    """Model, with its adapter where it has one, and tokenizer."""
    lora = config.model.lora
    whole = found is not None and not lora.rank
    model, tokenizer = load_model(str(found / "model") if found and whole else config.model.path, device=device)
    if lora.rank:
        add_adapter(model, lora)
        if found is not None:
            load_adapter(model, found / "adapter")
    return model, tokenizer


def _what_must_match(config: RunConfig) -> dict[str, str | float]:
    """What decides which tensors a checkpoint has, and what they mean."""
    lora = config.model.lora
    matter: dict[str, str | float] = {"algorithm.estimator": config.algorithm.estimator, "model.lora.rank": lora.rank}
    if lora.rank:
        matter |= {"model.lora.alpha": lora.alpha, "model.lora.targets": lora.targets}
    return matter


def _check_match(path: Path, config: RunConfig) -> None:
    try:
        then: dict[str, str | float] = json.loads((path / "made_with.json").read_text())
    except FileNotFoundError:
        return  # it is from before there was a choice
    now = _what_must_match(config)
    other = [name for name in now if name in then and then[name] != now[name]]
    if other:
        told = "; ".join(f"{name} was {then[name]} and is now {now[name]}" for name in other)
        raise CheckpointError(
            f"The checkpoint {path.name} is of another configuration: {told}.",
            remedy="Resume with the configuration that the run began with, or start a new run from its model.",
        )


def restore(path: Path, learner: Learner) -> Progress:
    """Loads the learner's state in place. Its model is loaded before that (`load_learner`)."""
    try:
        learner.load_state_dict(torch.load(path / "learner.pt", weights_only=True, map_location=learner.model.device))
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
    learned = torch.load(path / "learner.pt", weights_only=True, map_location=learner.model.device)
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
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
