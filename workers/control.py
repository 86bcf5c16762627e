"""Writes `control.json`, which forwards the requests of users to the engine."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any


def write_control(run_dir: Path, *, request: str, checkpoint: int, epoch: int, settings: dict[str, Any]) -> None:
    """Replaces the file whole, so that the engine never reads half of it; an engine ignores older epochs.

    `settings` has a `revision`, and as `changes` all that differs from the run's configuration, by dotted field.
    """
    content = {"request": request, "checkpoint": checkpoint, "epoch": epoch}
    write_json(run_dir / "control.json", {**content, "settings": settings} if settings["revision"] else content)


def write_json(path: Path, content: dict[str, Any]) -> None:
    temporary = path.with_name(f"{path.name}.{os.getpid()}.part")
    with temporary.open("w") as file:
        json.dump(content, file, indent=1)
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(path)
