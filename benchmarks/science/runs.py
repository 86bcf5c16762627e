"""Trains the runs of experiments, several at a time. Finished runs are kept, interrupted ones are resumed.

Experiments with the same run share it: the directory is named by a hash of the configuration.
"""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import Any

from engine.config import RunConfig
from engine.diagnostics.recordings import read_events
from engine.events import RunFinished

KINDS = ("type", "kind")  # the fields by which a section is of one kind or another


def directory_of(config: RunConfig, root: Path) -> Path:
    """Named by the differences from the defaults, so that a new field of the engine changes no directory; preset and
    description do not count."""
    digest = hashlib.sha256(json.dumps(differences(config)).encode()).hexdigest()
    return root / digest[:16]


def differences(config: RunConfig) -> dict[str, Any]:
    """From the defaults, with the kind of each section that differs: by itself a kind is the default of its class."""
    whole = config.model_dump(mode="json", exclude={"preset", "description"})
    changed = config.model_dump(mode="json", exclude_defaults=True, exclude={"preset", "description"})
    return dict(_with_kinds(changed, whole))


def _with_kinds(differing: Any, whole: Any) -> Any:
    if isinstance(differing, list):
        return [_with_kinds(part, other) for part, other in zip(differing, whole, strict=True)]
    if not isinstance(differing, dict):
        return differing
    kinds = {name: whole[name] for name in KINDS if name in whole}
    return kinds | {name: _with_kinds(part, whole[name]) for name, part in differing.items()}


def train_all(configs: Iterable[RunConfig], root: Path, *, jobs: int) -> Iterator[RunConfig]:
    """Yields each configuration when its run is finished; those that already are come first."""
    waiting = []
    for config in {directory_of(config, root): config for config in configs}.values():
        if is_finished(directory_of(config, root)):
            yield config
        else:
            waiting.append(config)
    with ThreadPoolExecutor(jobs) as pool:
        futures = {pool.submit(train, config, directory_of(config, root)): config for config in waiting}
        for future in as_completed(futures):
            future.result()
            yield futures[future]


def train(config: RunConfig, directory: Path) -> None:
    directory.mkdir(parents=True, exist_ok=True)
    started = (directory / "events.jsonl").exists()
    requested = directory / "requested.json"
    requested.write_text(config.model_dump_json(indent=1))
    command = [sys.executable, "-m", "engine", "train", str(requested), "--run-dir", str(directory), "--quiet"]
    subprocess.run([*command, "--resume"] if started else command, check=True)


def is_finished(directory: Path) -> bool:
    events = read_events(directory) if (directory / "events.jsonl").exists() else []
    return bool(events) and isinstance(events[-1], RunFinished)
