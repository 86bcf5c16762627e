"""What processes of a run are doing, seen from the node that they are on: stacks, state, the last words of their logs.

It asks nothing of Ray and little of them, since they may hang in anything.
"""

from __future__ import annotations

import os
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
from typing import NamedTuple

STACK_SECONDS = 1.0  # that Python has to write down its own stacks
SPY_SECONDS = 10
LOG_LINES = 3
LOG_BYTES = 4096
LINE_LENGTH = 300
STATES = {"D": "waiting in the kernel", "T": "stopped by a signal", "t": "held by a debugger", "Z": "dead"}


class Place(NamedTuple):
    """Where an actor is, as it said while it still answered."""

    node: str
    pid: int
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """`stack` is all that was found, "" for nothing; `state` has words for what is no ordinary state."""

    name: str
    stack: str
    state: str
    log: str


def look(places: Sequence[Place], folder: str) -> list[Seen]:
    """At processes of this machine. py-spy tells the stacks where there is one; else Python does, into `folder`."""
    spied = {place.name: stacks_by_spy(place.pid) for place in places}
    asked = [place for place in places if not spied[place.name]]
    for place in asked:
        with suppress(ProcessLookupError):
            os.kill(place.pid, signal.SIGUSR1)  # see `actor_setup`
    if asked:
        time.sleep(STACK_SECONDS)
    return [
        Seen(
            name=place.name,
            stack=spied[place.name] or _text(Path(folder) / f"{place.name}.txt"),
            state=state_of(place.pid),
            log=last_words(place.pid),
        )
        for place in places
    ]


def stacks_by_spy(pid: int) -> str:
    """Also of a process that no longer runs Python code. "" where there is no py-spy, or it may not look."""
    if (spy := py_spy()) is None:
        return ""
    command = [spy, "dump", "--nonblocking", "--pid", str(pid)]
    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=SPY_SECONDS, check=True).stdout
    except (OSError, subprocess.SubprocessError):
        return ""


def py_spy() -> str | None:
    """Its path, if it is installed: on the PATH, or beside this Python."""
    return shutil.which("py-spy") or shutil.which("py-spy", path=str(Path(sys.executable).parent))


def state_of(pid: int) -> str:
    try:
        letter = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return "gone"
    except (OSError, IndexError):
        return ""
    return STATES.get(letter, "")


def last_words(pid: int) -> str:
    """Of the file that its errors go to, which Ray gives each process."""
    return last_lines(Path(f"/proc/{pid}/fd/2"))


def last_lines(file: Path) -> str:
    """In one line; "" of what is no file."""
    try:
        if not stat.S_ISREG(file.stat().st_mode):
            return ""
        with file.open("rb") as opened:
            opened.seek(max(0, file.stat().st_size - LOG_BYTES))
            lines = opened.read().decode(errors="replace").splitlines()
    except OSError:
        return ""
    words = [line.strip()[:LINE_LENGTH] for line in lines if line.strip()]
    return " / ".join(words[-LOG_LINES:])


def _text(file: Path) -> str:
    return file.read_text(errors="replace") if file.is_file() else ""
