"""`python -m engine import-rollouts FOLDER --out RUN_DIR`: what was uploaded becomes a run directory.

The folder has the files by position, `0.jsonl`, `1.jsonl` and so on, and `request.json` with their names. Progress is
written to `progress.json` there while it works, and at the end with the whole report. No torch.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from typing import Any

from engine.disk_room import DiskRoom
from engine.foreign.run_directory import Report, Source, as_log, import_rollouts

REQUEST, PROGRESS = "request.json", "progress.json"
EVERY = 0.25  # seconds between two reports of progress


def import_main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m engine import-rollouts", description="Turn uploaded rollouts into a run directory."
    )
    parser.add_argument("folder", type=Path, help="folder with request.json and the uploaded files")
    parser.add_argument("--out", type=Path, required=True, help="the run directory")
    options = parser.parse_args(argv)

    folder: Path = options.folder
    request = json.loads((folder / REQUEST).read_text(encoding="utf-8"))
    # nothing asks it to give up: whoever stops an import ends this process
    room = DiskRoom(folder, check_cancelled=lambda: None)
    report = room.write(lambda: _import(folder, request, options.out))
    if report.rollouts:
        room.write(lambda: (options.out / "engine.log").write_text(as_log(report)))
    room.write(lambda: _save(folder, report, done=True))
    return 0


def _import(folder: Path, request: dict[str, Any], out: Path) -> Report:
    shown = _Shown(folder)
    with ExitStack() as files:
        sources = [
            Source(name=name, lines=files.enter_context(path_of(folder, position).open("rb")))
            for position, name in enumerate(request["files"])
        ]
        return import_rollouts(sources, out, split=request["split"] or None, progress=shown)


def path_of(folder: Path, position: int) -> Path:
    """Of an uploaded file; its own name may be anything."""
    return folder / f"{position}.jsonl"


class _Shown:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.next = 0.0

    def __call__(self, report: Report) -> None:
        if time.monotonic() >= self.next:
            _save(self.folder, report, done=False)
            self.next = time.monotonic() + EVERY


def _save(folder: Path, report: Report, *, done: bool) -> None:
    path = folder / PROGRESS
    temporary = path.with_name(PROGRESS + ".part")
    with temporary.open("w", encoding="utf-8") as file:
        json.dump({**asdict(report), "summary": report.summary(), "done": done}, file)
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(path)
