"""Snapshots of a run's processes, taken on the node they run on: stacks, state, the last lines of their logs.

It asks nothing of Ray and little of the processes themselves, since either may hang.
"""

from __future__ import annotations

import faulthandler
import os
import re
import shutil
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, NamedTuple

STACK_SECONDS = 1.0  # for Python to write its own stacks
PY_SPY_SECONDS = 10
LOG_LINES = 3
LOG_BYTES = 4096
LINE_LENGTH = 300
_open_files: list[IO[str]] = []  # faulthandler writes to files that must stay open
STATES = {"D": "waiting in the kernel", "T": "stopped by a signal", "t": "held by a debugger", "Z": "dead"}


class ActorLocation(NamedTuple):
    """Where an actor runs, as it reported while it still responded."""

    node: str
    pid: int
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessSnapshot:
    """`stack` is the full text, "" if there was none; `state` describes a state that is not an ordinary one."""

    name: str
    stack: str
    state: str
    log: str


def take_snapshots(actors: Sequence[ActorLocation], folder: str) -> list[ProcessSnapshot]:
    """Of processes on this machine. Stacks come from py-spy where it is installed, else from Python's own dump into
    `folder`."""
    stacks = {actor.name: py_spy_stacks(actor.pid) for actor in actors}
    without = [actor for actor in actors if not stacks[actor.name]]
    for actor in without:
        if catches(actor.pid, signal.SIGUSR1):  # it would end a process that does not
            with suppress(ProcessLookupError):
                os.kill(actor.pid, signal.SIGUSR1)
    if without:
        time.sleep(STACK_SECONDS)
    return [
        ProcessSnapshot(
            name=actor.name,
            stack=stacks[actor.name] or _text(Path(folder) / f"{actor.name}.txt"),
            state=process_state(actor.pid),
            log=last_log_lines(actor.pid),
        )
        for actor in actors
    ]


def py_spy_stacks(pid: int) -> str:
    """Also of a process that no longer runs Python code. "" where py-spy is missing or not permitted."""
    if (py_spy := py_spy_path()) is None:
        return ""
    command = [py_spy, "dump", "--nonblocking", "--pid", str(pid)]
    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=PY_SPY_SECONDS, check=True).stdout
    except (OSError, subprocess.SubprocessError):
        return ""


def py_spy_path() -> str | None:
    """Where py-spy is installed: on the PATH, or next to this Python; None if it is not."""
    return shutil.which("py-spy") or shutil.which("py-spy", path=str(Path(sys.executable).parent))


def dump_stacks_on_signal(file: Path) -> None:
    """On SIGUSR1 the stacks of all threads of this process are appended to `file`, whatever Python is doing."""
    file.parent.mkdir(parents=True, exist_ok=True)
    opened = file.open("w")
    _open_files.append(opened)
    faulthandler.register(signal.SIGUSR1, file=opened, all_threads=True)


def catches(pid: int, number: signal.Signals) -> bool:
    """Whether a process has a handler for a signal: field SigCgt of proc(5)."""
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return False
    found = re.search(r"^SigCgt:\s*([0-9a-f]+)$", status, re.MULTILINE)
    return found is not None and bool(int(found[1], 16) >> (number - 1) & 1)


def process_state(pid: int) -> str:
    try:
        letter = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return "gone"
    except (OSError, IndexError):
        return ""
    return STATES.get(letter, "")


def last_log_lines(pid: int) -> str:
    """Of the process's stderr, which Ray redirects to a file."""
    return last_lines(Path(f"/proc/{pid}/fd/2"))


def last_lines(file: Path) -> str:
    """The last lines of `file`, joined into one; "" if it is not a regular file."""
    try:
        if not stat.S_ISREG(file.stat().st_mode):
            return ""
        with file.open("rb") as opened:
            opened.seek(max(0, file.stat().st_size - LOG_BYTES))
            lines = opened.read().decode(errors="replace").splitlines()
    except OSError:
        return ""
    filled = [line.strip()[:LINE_LENGTH] for line in lines if line.strip()]
    return " / ".join(filled[-LOG_LINES:])


def _text(file: Path) -> str:
    return file.read_text(errors="replace") if file.is_file() else ""
