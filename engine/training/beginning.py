"""Where an attempt at a run begins. It never discards what was recorded because a checkpoint was lost."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

from engine.config import RunConfig
from engine.errors import ModelError, NoGoodCheckpoint
from engine.policies.model_paths import check_model_path
from engine.training.checkpoint_folder import checkpoints, damage_of, remove_partial
from engine.training.run_directory import RunDirectory

COUNTED = (b'"step_completed"', b'"checkpoint_saved"', b'"run_started"')
SET_ASIDE = "damaged_checkpoints"  # the folder for those of before a new start
SHOWN = 4  # damaged checkpoints in an error


@dataclass(frozen=True, slots=True, kw_only=True)
class Beginning:
    """`checkpoint` is None for a run that begins at its first step."""

    checkpoint: Path | None = None
    damaged: dict[str, str] = field(default_factory=dict)  # newer checkpoints that were passed over, with the reason

    @property
    def warning(self) -> str:
        if not self.damaged or self.checkpoint is None:
            return ""
        return f"Continues from {self.checkpoint.name}, since newer checkpoints are damaged: {_listed(self.damaged)}."


def find_beginning(directory: RunDirectory, *, every: int, start_over: bool = False) -> Beginning:
    """The newest good checkpoint. A run that was interrupted before its first scheduled checkpoint was complete (within
    `every` steps; 0 is no schedule) begins again at step 0. `NoGoodCheckpoint` if more would have to be repeated.

    With `start_over` a run without a good checkpoint begins again however much it has recorded, which stays; damaged
    checkpoints are set aside.
    """
    remove_partial(directory.checkpoints)
    damaged: dict[str, str] = {}
    for path in reversed(checkpoints(directory.checkpoints)):
        damage = damage_of(path)
        if not damage:
            return Beginning(checkpoint=path, damaged=damaged)
        damaged[path.name] = damage
    if start_over:
        _set_aside(directory, damaged)
        return Beginning()
    steps, saved = _recorded(directory.events)
    if damaged or saved or steps > every:
        raise NoGoodCheckpoint(_why(damaged, saved, steps), remedy=_REMEDY)
    return Beginning()


def require_model(config: RunConfig, found: Path) -> None:
    """`ModelError` if the directory of the model that the run started from is gone, and resuming from the checkpoint
    `found` needs it: for the frozen weights under an adapter, for a reference, or for the tokenizer on a cluster."""
    needed = config.model.lora.rank or config.copies_reference or config.backend == "ray"
    if config.model.start_from.run or not needed:
        return
    try:
        check_model_path(config.model.versioned_path)
    except ModelError as error:
        merged = ", with the adapter merged" if config.model.lora.rank else ""
        raise ModelError(
            f"{error.message.removesuffix('.')}, and the run needs it to resume.",
            remedy=f"Put the model back there and resume, or fork from {found.name} of this run: a checkpoint holds "
            f"the whole model{merged}.",
        ) from error


_REMEDY = (
    "Restore a checkpoint of it and resume, start another run (a clone, or a fork from a checkpoint of one of its "
    "ancestors), or start over at step 0. The record of this run stays in any case."
)


def _why(damaged: dict[str, str], saved: bool, steps: int) -> str:
    if damaged:
        why = f"No checkpoint of this run is usable: {_listed(damaged)}."
    elif saved:
        why = "All checkpoints of this run are missing."
    else:
        why = "This run has saved no checkpoint."
    return f"{why} To begin again at step 0 would repeat {steps} recorded steps."


def _set_aside(directory: RunDirectory, damaged: Iterable[str]) -> None:
    for name in damaged:
        target = directory.path / SET_ASIDE / name
        target.parent.mkdir(exist_ok=True)
        taken = (target.with_name(f"{name}.{number}") for number in count(2))
        target = target if not target.exists() else next(path for path in taken if not path.exists())
        (directory.checkpoints / name).rename(target)


def _listed(damaged: dict[str, str]) -> str:
    shown = "; ".join(f"{name} ({why})" for name, why in list(damaged.items())[:SHOWN])
    return f"{shown}; and {len(damaged) - SHOWN} more" if len(damaged) > SHOWN else shown


def _recorded(path: Path) -> tuple[int, bool]:
    """Since the run last began at step 0: the highest step that was completed, and whether a checkpoint was saved."""
    steps, saved = 0, False
    for event in _events(path):
        if event.get("kind") == "run_started" and event.get("resumed_from") is None:
            steps, saved = 0, False
        saved |= event.get("kind") == "checkpoint_saved"
        if event.get("kind") == "step_completed":
            steps = max(steps, int(event.get("step", 0)))
    return steps, saved


def _events(path: Path) -> Iterator[dict[str, Any]]:
    if not path.exists():
        return
    with path.open("rb") as file:
        for line in file:
            if not any(kind in line for kind in COUNTED):
                continue
            try:
                event = json.loads(line)
            except ValueError:
                continue
            if isinstance(event, dict):
                yield event
