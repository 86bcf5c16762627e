"""Runs on Ray clusters, in this process or in engines of their own, and what became of them."""

from __future__ import annotations

import importlib.util
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

import psutil
import pytest

from engine.config import RunConfig, build_config
from engine.event_lines import parse_event
from engine.events import Event
from engine.training import session
from engine.training.run_directory import Sink

needs_ray = pytest.mark.skipif(
    importlib.util.find_spec("ray") is None, reason="Ray is not installed; requirements/cluster.txt has it"
)
LIMIT_SECONDS = 240


def ray_config(*, steps: int = 3, cluster: dict[str, Any] | None = None, **changes: Any) -> RunConfig:
    """A short run of the model that ships, sampled by torch unless `cluster` says otherwise."""
    base: dict[str, Any] = {
        "backend": "ray",
        "steps": steps,
        "threads": 1,
        "cluster": {"sampler": "torch", "wait_minutes": 2, "phase_minutes": 4, **(cluster or {})},
        "environments": [{"kind": "frozen_lake", "max_turns": 2}],
        "rollout": {"groups": 4, "group_size": 4},
        "diagnostics": {"every": 2, "reasonings": 4, "prompts": 3},
        "evaluation": {"every": 0, "at_start": False, "final_episodes": 4},
        "checkpoint": {"every": 1},
        "optimizer": {"updates_per_step": 1},
    }
    return build_config({**base, **changes})


def new_cluster(*, system: dict[str, Any] | None = None, **head: Any) -> Any:
    """Ray with one node on this machine, whose settings are `head` and whose internal ones `system`."""
    from ray.cluster_utils import Cluster

    from engine.cluster.connection import NO_SPARE_WORKERS

    # Ray's own niceness has actors wait until no other test computes
    system = {**NO_SPARE_WORKERS, "worker_niceness": 0, **(system or {})}
    return Cluster(initialize_head=True, head_node_args={"include_dashboard": False, "_system_config": system, **head})


@contextmanager
def engine(config: RunConfig, directory: Path, *more: str, **environment: str) -> Iterator[subprocess.Popen[bytes]]:
    """The engine at work; whatever it leaves is killed at the end."""
    directory.mkdir(parents=True, exist_ok=True)
    file = directory / "asked.json"
    file.write_text(config.model_dump_json())
    if "RAY_ADDRESS" in environment:
        environment["RAY_ADDRESS"] = local(environment["RAY_ADDRESS"])
    surroundings = {name: value for name, value in os.environ.items() if not name.startswith("RAY_")}
    command = [sys.executable, "-m", "engine", "train", str(file), "--run-dir", str(directory), "--quiet", *more]
    with (directory / "engine.log").open("ab") as log:
        process = subprocess.Popen(
            command, env={**surroundings, **environment}, stdout=log, stderr=log, start_new_session=True
        )
    try:
        yield process
    finally:
        family = descendants(process)
        for one in [process, *family]:
            try:
                one.send_signal(signal.SIGKILL)
            except (psutil.NoSuchProcess, ProcessLookupError):
                continue
        process.wait()


def train(
    config: RunConfig, directory: Path, *, resume: bool = False, sinks: list[Sink] | None = None, **environment: str
) -> int:
    """To its end; the exit status. In this process, which has the libraries that an engine takes seconds to load."""
    with patch.dict(os.environ, environment):
        return session.train(config, directory, resume=resume, sinks=sinks)


def complete(config: RunConfig, directory: Path, **environment: str) -> Path:
    """A whole run in a new directory, also where the first try of a fixture left one behind."""
    if directory.exists():
        shutil.rmtree(directory)
    status = train(config, directory, **environment)
    assert status == 0, [event for event in events(directory) if event.kind == "run_failed"]
    return directory


def local(address: str) -> str:
    """Without a token only this machine's own address is allowed."""
    return f"127.0.0.1:{address.rpartition(':')[2]}"


def events(directory: Path) -> list[Event]:
    path = directory / "events.jsonl"
    lines = path.read_bytes().splitlines(keepends=True) if path.exists() else []
    return [parse_event(line) for line in lines if line.endswith(b"\n")]


def wait_for(directory: Path, wanted: Callable[[Event], bool], *, after: int = 0) -> None:
    """Until an event is as `wanted`, other than the first `after` ones."""
    deadline = time.monotonic() + LIMIT_SECONDS
    while True:
        recorded = events(directory)[after:]
        if any(wanted(event) for event in recorded):
            return
        over = time.monotonic() > deadline or any(event.kind == "run_failed" for event in recorded)
        assert not over, f"{recorded[-1:]}\n{(directory / 'engine.log').read_text()[-3000:]}"
        time.sleep(0.02)


def at_first(wanted: Callable[[Event], bool], act: Callable[[], object]) -> Sink:
    """A sink that acts at the first event that is as `wanted`."""
    done: list[Event] = []

    def sink(event: Event) -> None:
        if not done and wanted(event):
            done.append(event)
            act()

    return sink


def rolling_out(step: int) -> Callable[[Event], bool]:
    return in_phase("rollout", step)


def in_phase(phase: str, step: int) -> Callable[[Event], bool]:
    return lambda event: event.kind == "phase_changed" and event.phase == phase and event.step == step


def descendants(process: subprocess.Popen[bytes]) -> list[psutil.Process]:
    try:
        return list(psutil.Process(process.pid).children(recursive=True))
    except psutil.NoSuchProcess:
        return []


def actors(kind: str) -> list[psutil.Process]:
    """Processes of actors of a class, whether the engine started their cluster or this process did."""
    found = psutil.Process().children(recursive=True)
    return [one for one in found if title(one).startswith("ray::") and kind in title(one)]


def title(process: psutil.Process) -> str:
    try:
        return "".join(process.cmdline()[:1])
    except psutil.NoSuchProcess:
        return ""
