"""The checkpoints in a run directory: which there are, which of them are good, and which are removed."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Container, Iterable, Mapping
from pathlib import Path

from engine.reservations import REMOVED, end_removal, remove_unless_reserved
from engine.training.retention import kept

REPLACED = ".replaced"  # the end of the name of a checkpoint whose step is saved again

Stamp = list[tuple[str, int, int]]


def checkpoints(directory: Path) -> list[Path]:
    """Complete checkpoints, oldest first."""
    return sorted(directory.glob("step_*"), key=step_of)


def step_of(path: Path) -> int:
    return int(path.name.removeprefix("step_"))


def latest_valid(directory: Path) -> Path | None:
    """The latest checkpoint whose files match their recorded digests."""
    return next((path for path in reversed(checkpoints(directory)) if is_valid(path)), None)


def is_valid(path: Path) -> bool:
    return not damage_of(path)


def damage_of(path: Path) -> str:
    """What is wrong with the files of a checkpoint; empty if they match their recorded digests."""
    try:
        digests: dict[str, str] = json.loads((path / "manifest.json").read_text())
        changed = [name for name, digest in digests.items() if digest_of(path / name) != digest]
    except FileNotFoundError as error:
        return f"{Path(error.filename).relative_to(path)} is missing"
    except (OSError, ValueError, AttributeError) as error:
        return f"its files cannot be read: {error}"
    return f"{changed[0]} has changed since it was written" if changed else ""


def digest_of(path: Path) -> str:
    with path.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()


def size_of(path: Path) -> int:
    return sum(file.stat().st_size for file in path.rglob("*") if file.is_file())


class GoodCheckpoints:
    """Which checkpoints are good, without reading all their files at each save: digests are computed once, and again
    only after the size or the time of change of a file differs."""

    def __init__(self) -> None:
        self._verified: dict[Path, tuple[Stamp, bool]] = {}

    def __contains__(self, path: object) -> bool:
        if not isinstance(path, Path):
            return False
        stamp = _stamp(path)
        known = self._verified.get(path)
        if known is None or known[0] != stamp:
            known = self._verified[path] = (stamp, is_valid(path))
        return known[1]

    def just_written(self, path: Path) -> None:
        """Its digests are those of what was written."""
        self._verified[path] = (_stamp(path), True)


def _stamp(path: Path) -> Stamp:
    """Names, sizes and times of change of the files of a checkpoint."""
    files = sorted(file for file in path.rglob("*") if file.is_file())
    return [(str(file), found.st_size, found.st_mtime_ns) for file in files if (found := file.stat())]


def prune(
    directory: Path, *, newest: int, before: Iterable[int], held_out: Mapping[int, float], good: Container[Path]
) -> set[int]:
    """Removes all that need not be kept (`engine.training.retention.kept`) and are not reserved
    (`engine.reservations`), and returns the steps of the others.

    Only checkpoints that are `good` count. The others are removed as soon as `newest` good ones follow.
    """
    paths = {step_of(path): path for path in checkpoints(directory)}
    sound = {step for step, path in paths.items() if path in good}
    wanted = kept(sound, newest=newest, before=before, held_out=held_out)
    replaced = {step for step in paths.keys() - sound if sum(other > step for other in sound) >= newest}
    spared = {step for step in (sound - wanted) | replaced if not remove_unless_reserved(paths[step])}
    return wanted | (spared & sound)


def replace_folder(part: Path, target: Path) -> None:
    """Gives the complete folder `part` the name `target`. A folder that had it goes afterwards, so that one of the two
    is there whenever this is interrupted."""
    old = target.with_name(f".{target.name}{REPLACED}")
    if target.exists():
        shutil.rmtree(old, ignore_errors=True)
        target.rename(old)
    part.rename(target)
    sync(target.parent)
    shutil.rmtree(old, ignore_errors=True)


def sync(path: Path) -> None:
    """Waits until a file, or the names in a folder, are on the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def remove_partial(directory: Path) -> None:
    """Removes what saves and removals that were interrupted have left, but no checkpoint that is reserved or whose
    replacement is not complete."""
    for old in directory.glob(f".step_*{REPLACED}"):
        target = old.with_name(old.name.removeprefix(".").removesuffix(REPLACED))
        if target.exists():
            shutil.rmtree(old, ignore_errors=True)
        else:
            old.rename(target)
    for part in directory.glob(".step_*.part"):
        shutil.rmtree(part, ignore_errors=True)
    for aside in directory.glob(f".step_*{REMOVED}"):
        end_removal(aside)
