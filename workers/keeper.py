"""The parent of an engine, which ends all that the engine leaves behind.

The kernel makes this process the parent of every orphan among its descendants (PR_SET_CHILD_SUBREAPER), also of those
that have left their parents, their session and their environment. So once the engine has ended and this process has
no children, the run has no processes: that is the proof which `swept.json` reports.

Started as a script, without the site's packages: `python -I -S keeper.py REPORT PIPE COMMAND…`. It lives as long as the
engine, whatever becomes of workers, and ends as the engine did: by the same exit status or signal.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import resource
import signal
import sys
import time
from pathlib import Path

PR_SET_CHILD_SUBREAPER = 36
MARK = "STARBOARD_KEEPER"  # in the environment of this process, not in the engine's
COOKIE = "STARBOARD_RUN"
REFUSED = "errno "
START_TIME = 19  # among `fields_of`
PAUSE = 0.05


def main(report: Path, pipe: int, command: list[str]) -> None:
    ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda *_: None)  # not SIG_IGN, which the engine would inherit
    status = wait_for(start(command, pipe))
    write(report, {"cookie": os.environ.get(COOKIE, ""), "status": status, "killed": end_what_is_left()})
    end_as(status)


def start(command: list[str], pipe: int) -> int:
    """Writes the engine's pid and start time into the pipe, for the worker that waits, or why there is none."""
    os.set_inheritable(pipe, False)
    environment = {name: value for name, value in os.environ.items() if name != MARK}
    try:
        pid = os.posix_spawnp(
            command[0], command, environment, setsid=True, setsigdef=[signal.SIGPIPE, signal.SIGXFSZ]
        )  # which Python ignores
    except OSError as error:
        os.write(pipe, f"{REFUSED}{error.errno}".encode())
        raise
    with contextlib.suppress(BrokenPipeError):  # the worker has ended: the next one finds the engine by its cookie
        os.write(pipe, f"{pid} {fields_of(pid)[START_TIME]}".encode())
    os.close(pipe)
    return pid


def wait_for(engine: int) -> int:
    """Its exit status as of `Popen`."""
    while True:
        pid, status = os.waitpid(-1, 0)
        if pid == engine:
            return os.waitstatus_to_exitcode(status)


def end_what_is_left() -> list[int]:
    """Kills descendants until the kernel says that there are none."""
    killed: set[int] = set()
    while True:
        for pid in descendants(os.getpid()):
            try:
                os.kill(pid, signal.SIGKILL)
                killed.add(pid)
            except (ProcessLookupError, PermissionError):
                continue
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        except ChildProcessError:
            return sorted(killed)
        time.sleep(PAUSE)


def descendants(ancestor: int) -> list[int]:
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            state, parent = fields_of(int(entry.name))[:2]
        except OSError:
            continue
        if state not in "ZX":
            children.setdefault(int(parent), []).append(int(entry.name))
    found: list[int] = []
    waiting = [ancestor]
    while waiting:
        below = children.get(waiting.pop(), [])
        found += below
        waiting += below
    return found


def fields_of(pid: int) -> list[str]:
    """Of `/proc/<pid>/stat`, from the state on."""
    text = Path(f"/proc/{pid}/stat").read_text()
    return text[text.rindex(")") + 2 :].split()


def write(report: Path, content: dict[str, object]) -> None:
    temporary = report.with_name(f"{report.name}.new")
    try:
        temporary.write_text(json.dumps(content))
        temporary.replace(report)
    except OSError as error:
        sys.stderr.write(f"{report} cannot be written, so the end of this run is not proven: {error}\n")


def end_as(status: int) -> None:
    if status < 0:
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        if -status not in (signal.SIGKILL, signal.SIGSTOP):
            signal.signal(-status, signal.SIG_DFL)
        os.kill(os.getpid(), -status)
    sys.exit(status)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3:])
