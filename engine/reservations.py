"""Checkpoints that somebody outside the engine needs for a while: a marker beside them says so, and the engine that
trains removes none that has one. No torch.

Whoever reserves one writes the marker first and then looks whether the checkpoint is there; the engine takes it away
first and then looks for markers, so that one of the two always sees the other.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

FOLDER = ".reserved"  # in that of the checkpoints
REMOVED = ".removed"  # the end of the name of a checkpoint that is being removed


def reserve(checkpoints: Path, step: int, by: str) -> bool:
    """Keeps the checkpoint of `step` until `release`; False if there is none."""
    marker = _marker(checkpoints, step, by)
    marker.parent.mkdir(parents=True, exist_ok=True)
    marker.touch()
    if (checkpoints / f"step_{step}").is_dir():
        return True
    marker.unlink(missing_ok=True)
    return False


def release(checkpoints: Path, step: int, by: str) -> None:
    _marker(checkpoints, step, by).unlink(missing_ok=True)


def markers(checkpoints: Path) -> Iterator[tuple[Path, str]]:
    """Each marker, and who wrote it."""
    for path in (checkpoints / FOLDER).glob("step_*.*"):
        yield path, path.name.partition(".")[2]


def is_reserved(checkpoint: Path) -> bool:
    return any((checkpoint.parent / FOLDER).glob(f"{checkpoint.name}.*"))


def remove_unless_reserved(checkpoint: Path) -> bool:
    """True if it was removed."""
    aside = checkpoint.with_name(f".{checkpoint.name}{REMOVED}")
    if is_reserved(checkpoint):
        return False
    checkpoint.rename(aside)
    if is_reserved(checkpoint):  # by now
        aside.rename(checkpoint)
        return False
    shutil.rmtree(aside)
    return True


def end_removal(aside: Path) -> None:
    """Completes what `remove_unless_reserved` was doing when the engine was killed. Files may be missing already, but
    then nobody had reserved the checkpoint, and its digests tell whoever does now."""
    checkpoint = aside.with_name(aside.name.removeprefix(".").removesuffix(REMOVED))
    if is_reserved(checkpoint) and not checkpoint.exists():
        aside.rename(checkpoint)
    else:
        shutil.rmtree(aside, ignore_errors=True)


def _marker(checkpoints: Path, step: int, by: str) -> Path:
    return checkpoints / FOLDER / f"step_{step}.{by}"
