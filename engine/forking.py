"""Runs that start from another run's checkpoint: where it is found, and how it is retained. No torch.

A fork links the checkpoint's files into `start/<run>/step_<n>` of its own directory. So the other run may remove its
old checkpoints, and a fork of the fork finds the files there too. Files of a checkpoint are never modified, only
replaced, which leaves links intact.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any

from engine.config import RunConfig
from engine.errors import CheckpointError


def pin_start(config: RunConfig, directory: Path) -> Path | None:
    """The fork's own copy of the checkpoint it starts from, created if absent; None for a run that is not a fork.

    The other run's directory is a sibling of `directory`. `CheckpointError` if the checkpoint does not exist, is
    removed while it is copied, or cannot be written.
    """
    wanted = config.model.start_from
    if not wanted.run:
        return None
    pinned = directory / "start" / wanted.run / f"step_{wanted.step}"
    if not pinned.is_dir():
        found = find_checkpoint(directory.parent, wanted.run, wanted.step)
        try:
            _link(found, pinned)
        except OSError as error:
            find_checkpoint(directory.parent, wanted.run, wanted.step)  # raises if it was removed meanwhile
            raise CheckpointError(
                f"The checkpoint of step {wanted.step} of {wanted.run} could not be copied: {_first_reason(error)}.",
                remedy="Check disk space and write permissions, then launch the fork again.",
            ) from error
    return pinned


def find_checkpoint(runs: Path, run: str, step: int) -> Path:
    """Step `step` of the run directory `run` below `runs`, or the copy of a fork."""
    if (found := next(copies_of(runs, run, step), None)) is not None:
        return found
    there = sorted((runs / run / "checkpoints").glob("step_*"), key=lambda path: int(path.name.removeprefix("step_")))
    known = ", ".join(path.name.removeprefix("step_") for path in there)
    raise CheckpointError(
        f"There is no checkpoint of step {step} of the run {run} in {runs}.",
        remedy=f"Choose one of its steps {known}." if known else "Name a run in that directory that has a checkpoint.",
    )


def copies_of(runs: Path, run: str, step: int) -> Iterator[Path]:
    """Where the checkpoint is: first in its run's own directory, then in those of forks."""
    name = f"step_{step}"
    for path in chain([runs / run / "checkpoints" / name], runs.glob(f"*/start/{run}/{name}")):
        if (path / "manifest.json").is_file() and path.resolve().is_relative_to(runs.resolve()):
            yield path


def begun_at(config: RunConfig, start: Path | None) -> RunConfig:
    """`config` with the checkpoint's model as the model to load."""
    if start is None:
        return config
    model = config.model.model_copy(update={"path": str(start.resolve() / "model"), "revision": "", "adapter": ""})
    return config.model_copy(update={"model": model})


def takes_optimizer(config: RunConfig, start: Path) -> bool:
    """With LoRA on either side other tensors are trained, and moments have one precision, so the optimiser's state may
    not apply."""
    if not config.model.start_from.optimizer or config.model.lora.rank or _made_with(start, "model.lora.rank"):
        return False
    return _moments_of(start) == config.optimizer.moments


def describe_start(config: RunConfig, start: Path, *, adopted: bool) -> str:
    """One sentence on what a fork starts from."""
    wanted = config.model.start_from
    took = f"Starts with the weights of step {wanted.step} of {wanted.run}"
    if adopted:
        return f"{took} and its optimiser state, with this run's learning rate and weight decay."
    if not wanted.optimizer:
        return f"{took}; the optimiser state is not taken over, as configured."
    if _moments_of(start) != config.optimizer.moments:
        return f"{took}; the optimiser state is not taken over, since its moments are {_moments_of(start)}."
    return f"{took}, with LoRA's update merged; the optimiser state is not taken over."


def _moments_of(start: Path) -> str:
    return str(_made_with(start, "optimizer.moments") or "float32")


def _made_with(start: Path, name: str) -> Any:
    """The setting that a checkpoint was written with; None if that is not known."""
    try:
        return json.loads((start / "checkpoint_settings.json").read_text()).get(name)
    except (OSError, ValueError):
        return None


def _link(source: Path, target: Path) -> None:
    """All files or none. Across file systems, where links are impossible, files are copied."""
    part = target.with_name(f".{target.name}.{os.getpid()}.part")
    shutil.rmtree(part, ignore_errors=True)
    part.parent.mkdir(parents=True, exist_ok=True)
    try:
        shutil.copytree(source, part, copy_function=link_or_copy)
        _check_whole(part)
    except OSError:
        shutil.rmtree(part, ignore_errors=True)
        raise
    try:
        part.replace(target)
    except OSError:  # another process did it first
        shutil.rmtree(part, ignore_errors=True)
        if not target.is_dir():
            raise


def _check_whole(checkpoint: Path) -> None:
    """`OSError` if a file was removed before it was copied."""
    try:
        names = json.loads((checkpoint / "manifest.json").read_text())
    except ValueError:
        raise OSError("its manifest.json is damaged") from None
    for name in names:
        if not (checkpoint / name).is_file():
            raise FileNotFoundError(f"its {name} was removed")


def _first_reason(error: OSError) -> str:
    """Copying a folder raises one error with a reason per file."""
    reasons = error.args[0] if isinstance(error, shutil.Error) and error.args else error
    return str(reasons[0][2] if isinstance(reasons, list) and reasons else reasons)


def link_or_copy(source: str, target: str) -> None:
    """Across file systems links are impossible."""
    try:
        os.link(source, target, follow_symlinks=False)
    except OSError:
        shutil.copy2(source, target)
