"""Where an attempt at a run begins. It never discards what was recorded because a checkpoint was lost."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from engine.errors import CheckpointError
from engine.training.checkpoint_folder import checkpoints, damage_of, remove_partial
from engine.training.run_directory import RunDirectory

COUNTED = (b'"step_completed"', b'"checkpoint_saved"')
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


def find_beginning(directory: RunDirectory, *, every: int) -> Beginning:
    """The newest good checkpoint. A run that was interrupted before its first scheduled checkpoint was complete (within
    `every` steps; 0 is no schedule) begins again at step 0. `CheckpointError` if that would discard more."""
    remove_partial(directory.checkpoints)
    damaged: dict[str, str] = {}
    for path in reversed(checkpoints(directory.checkpoints)):
        damage = damage_of(path)
        if not damage:
            return Beginning(checkpoint=path, damaged=damaged)
        damaged[path.name] = damage
    steps, saved = _recorded(directory.events)
    if damaged or saved or steps > every:
        raise CheckpointError(_why(damaged, saved, steps), remedy=_REMEDY)
    return Beginning()


_REMEDY = (
    "Restore a checkpoint of it, or start another run: a clone, or a fork of one of its ancestors. The record of this "
    "run stays as it is."
)


def _why(damaged: dict[str, str], saved: bool, steps: int) -> str:
    if damaged:
        why = f"No checkpoint of this run is usable: {_listed(damaged)}."
    elif saved:
        why = "All checkpoints of this run are missing."
    else:
        why = "This run has saved no checkpoint."
    return f"{why} Starting again at step 0 would discard the record of {steps} steps."


def _listed(damaged: dict[str, str]) -> str:
    shown = "; ".join(f"{name} ({why})" for name, why in list(damaged.items())[:SHOWN])
    return f"{shown}; and {len(damaged) - SHOWN} more" if len(damaged) > SHOWN else shown


def _recorded(path: Path) -> tuple[int, bool]:
    """The highest step that was completed, and whether a checkpoint was ever saved."""
    steps, saved = 0, False
    for event in _events(path):
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
