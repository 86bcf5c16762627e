"""Trains what experiments ask for, several runs at a time. What is finished is kept, what was cut off goes on.

Experiments that ask for the same run share it: its directory is named by its configuration.
"""

from __future__ import annotations

import hashlib
import subprocess
import sys
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path

from engine.config import RunConfig
from engine.diagnostics.recordings import read_events
from engine.events import RunFinished


def directory_of(config: RunConfig, place: Path) -> Path:
    """Named by what differs from the defaults, so that a field that is added to the engine makes no run another one;
    and not by words about it."""
    told = config.model_dump_json(exclude_defaults=True, exclude={"preset", "description"})
    digest = hashlib.sha256(told.encode()).hexdigest()
    return place / digest[:16]


def train_all(configs: Iterable[RunConfig], place: Path, *, jobs: int) -> Iterator[RunConfig]:
    """Each configuration as its run is done; those that are done already come first."""
    waiting = []
    for config in {directory_of(config, place): config for config in configs}.values():
        if is_finished(directory_of(config, place)):
            yield config
        else:
            waiting.append(config)
    with ThreadPoolExecutor(jobs) as pool:
        futures = {pool.submit(train, config, directory_of(config, place)): config for config in waiting}
        for future in as_completed(futures):
            future.result()
            yield futures[future]


def train(config: RunConfig, directory: Path) -> None:
    directory.mkdir(parents=True, exist_ok=True)
    begun = (directory / "events.jsonl").exists()
    asked = directory / "asked.json"
    asked.write_text(config.model_dump_json(indent=1))
    command = [sys.executable, "-m", "engine", "train", str(asked), "--run-dir", str(directory), "--quiet"]
    subprocess.run([*command, "--resume"] if begun else command, check=True)


def is_finished(directory: Path) -> bool:
    events = read_events(directory) if (directory / "events.jsonl").exists() else []
    return bool(events) and isinstance(events[-1], RunFinished)
