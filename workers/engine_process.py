"""How an engine process is started: under a keeper, which ends what it leaves behind and reports it."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import subprocess
import sys
import threading
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from django.conf import settings

from workers import keeper
from workers.process import COOKIE_VARIABLE, REPOSITORY, WITHHELD, Identity, boot_id, host

KEEPER = Path(__file__).with_name("keeper.py")
REPORT = "swept.json"  # of a keeper, in the run directory
TEMPORARY = frozenset({errno.EAGAIN, errno.ENOMEM, errno.EMFILE, errno.ENFILE})  # others may free what has run out
NICENESS = 5  # pages and workers stay responsive while an engine uses all cores


class NotStarted(OSError):
    """A keeper could not start its engine."""


def engine_program() -> list[str]:
    return getattr(settings, "STARBOARD_ENGINE_COMMAND", None) or [sys.executable, "-m", "engine"]


def engine_command(run_dir: Path, *, resume: bool, start_over: bool = False) -> list[str]:
    command = [*engine_program(), "train", str(run_dir / "config.json"), "--run-dir", str(run_dir)]
    command.append("--no-sized-defaults")  # the file has every field
    return [*command, *(["--resume"] if resume else []), *(["--start-over"] if start_over else [])]


def start_engine(
    run_dir: Path,
    *,
    cookie: str,
    attempt: int,
    epoch: int,
    last_seq: int = 0,
    resume: bool,
    start_over: bool = False,
) -> Identity:
    """Starts the engine under a keeper, in a session of its own, its output appended to `engine.log`: it does not
    depend on this process. It numbers its events from `last_seq` on, or from those of its file."""
    variables = {
        "STARBOARD_ATTEMPT": str(attempt),
        "STARBOARD_EPOCH": str(epoch),
        "STARBOARD_LAST_SEQ": str(last_seq),
        keeper.MARK: "1",
    }
    started, pipe = os.pipe()
    with os.fdopen(started, "rb") as reader:
        try:
            command = [
                sys.executable, "-I", "-S", str(KEEPER), str(run_dir / REPORT), str(pipe),
                *engine_command(run_dir, resume=resume, start_over=start_over),
            ]  # fmt: skip
            log = run_dir / "engine.log"
            parent = start(command, log, cookie=cookie, variables=variables, pass_fds=[pipe])
        finally:
            os.close(pipe)
        answer = reader.read().decode()
    threading.Thread(target=parent.wait, name=f"keeper {parent.pid}", daemon=True).start()  # else it stays a zombie
    if not answer or answer.startswith(keeper.REFUSED):
        number = int(answer.removeprefix(keeper.REFUSED) or 0)
        raise NotStarted(number, os.strerror(number) if number else "its keeper has ended")
    pid, start_time = map(int, answer.split())
    _lower_priority(pid)
    return Identity(pid=pid, start_time=start_time, boot_id=boot_id(), host=host(), cookie=cookie)


def start(
    command: list[str], log_path: Path, *, cookie: str, variables: dict[str, str], pass_fds: Collection[int] = ()
) -> subprocess.Popen[bytes]:
    """Starts an engine process; `variables` are added to its environment, with the cookie."""
    environment = {name: value for name, value in os.environ.items() if name not in WITHHELD}
    environment |= {
        COOKIE_VARIABLE: cookie,
        "PYTHONUNBUFFERED": "1",
        "SPT_NOENV": "1",  # setproctitle must leave the environment, and so the cookie, readable
        **variables,
    }
    with log_path.open("ab") as log:
        child = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            cwd=REPOSITORY,
            env=environment,
            start_new_session=True,
            close_fds=True,
            pass_fds=pass_fds,
        )
    _lower_priority(child.pid)
    return child


def _lower_priority(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError):  # it may have ended already
        os.setpriority(os.PRIO_PROCESS, pid, NICENESS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """Of a keeper, once no process of its engine is left."""

    status: int  # of the engine, as of `Popen`
    killed: list[int]


def report_of(run_dir: Path, cookie: str) -> Report | None:
    """None where there is none of this attempt: its keeper still runs, or was killed."""
    try:
        report = json.loads((run_dir / REPORT).read_bytes())
        if report["cookie"] == cookie:
            return Report(status=int(report["status"]), killed=list(report["killed"]))
    except (OSError, ValueError, KeyError, TypeError):
        pass
    return None
