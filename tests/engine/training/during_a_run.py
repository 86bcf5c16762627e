"""What happens to a run meanwhile: requests, signals, a full disk. The run trains in this process or in another."""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from multiprocessing.process import BaseProcess
from pathlib import Path

from engine.config import RunConfig
from engine.event_lines import parse_event
from engine.events import Event
from engine.training.session import train


def train_while(act: Callable[[], None], config: RunConfig, directory: Path) -> int:
    """The exit status of a run in this process, while `act` goes on in a thread. An error there ends the run, and is
    raised."""

    def act_or_end() -> None:
        try:
            act()
        except BaseException:
            end_this_process()
            raise

    with ThreadPoolExecutor(1) as others:
        acting = others.submit(act_or_end)
        status = train(config, directory)
        acting.result()
    return status


def end_this_process() -> None:
    os.kill(os.getpid(), signal.SIGTERM)


def request(directory: Path, what: str) -> None:
    (directory / "control.json").write_text(json.dumps({"request": what, "epoch": 0}))


def wait_for_step(directory: Path, step: int, process: BaseProcess | None = None) -> None:
    """`process` is the one that trains, if it is not this one."""
    deadline = time.monotonic() + 90
    while time.monotonic() < deadline:
        assert process is None or process.is_alive(), "the engine ended early"
        for event in whole_events_of(directory):
            assert event.kind not in ("run_finished", "run_failed"), "the run ended early"
            if event.kind == "step_completed" and event.step >= step:
                return
        time.sleep(0.1)
    raise AssertionError(f"no step {step} within 90 seconds")


def whole_events_of(directory: Path) -> Iterator[Event]:
    """While others may be in the middle of one."""
    file = directory / "events.jsonl"
    lines = file.read_bytes().splitlines(keepends=True) if file.exists() else []
    return (parse_event(line) for line in lines if line.endswith(b"\n"))
