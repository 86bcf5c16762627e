"""Runs untrusted code case by case. This is the program inside a sandbox, with the standard library alone.

`serve` is process 1 of a process namespace. It forks for each case, so no case sees another, and writes one line of
JSON for each. It runs no untrusted code itself and cannot be signalled or traced by what does. Nothing here is trusted
with what a test expects.
"""

import ctypes
import json
import os
import resource
import selectors
import signal
import site
import sys
import time
from contextlib import suppress
from typing import Any

from engine.sandbox.case import KEPT_ERROR, PRELUDE, execute

NOT_PROCESS_ONE = 97  # exit status
NOT_STARTED = 96  # exit status of a case
RESULT_FD = 3
RESULT_ROOM = 3 * KEPT_ERROR  # what a report has beside the value


def serve() -> None:
    """Runs all cases of the request on stdin."""
    if os.getpid() != 1:  # `_stop_all` would stop processes of others
        sys.exit(NOT_PROCESS_ONE)
    request = json.load(sys.stdin)
    _give_up_privileges(request["user"])
    site.setquit()
    frames = os.dup(1)
    exec(PRELUDE, {})  # noqa: S102 - loads the modules once, for all forks
    _write(frames, {"ready": True})
    frame: dict[str, Any] = {"ended": ""}
    for case in request["cases"]:
        if frame["ended"] != "not_python":  # as it is for all cases
            frame = _run_forked(request["code"], case, request["limits"])
        _write(frames, frame)


def _give_up_privileges(user: int | None) -> None:
    """`user` is the number of a user that nobody else has, as limits on processes are counted by user and do not hold
    for root; None where we are not root."""
    if user is not None:
        os.setgroups([])
        os.setresgid(user, user, user)
        os.setresuid(user, user, user)
    libc = ctypes.CDLL(None, use_errno=True)
    for option, value in ((1, signal.SIGKILL), (4, 0), (38, 1)):  # PDEATHSIG, which a new user clears; DUMPABLE; NNP
        if libc.prctl(option, int(value), 0, 0, 0) != 0:
            raise OSError(ctypes.get_errno(), f"prctl({option}) failed")


def _write(fd: int, frame: dict[str, Any]) -> None:
    data = json.dumps(frame).encode() + b"\n"
    while data:
        data = data[os.write(fd, data) :]


def _run_forked(code: str, case: dict[str, Any], limits: dict[str, Any]) -> dict[str, Any]:
    started = time.monotonic()
    source = os.memfd_create("stdin")
    os.write(source, case.get("stdin", "").encode("utf-8", "surrogatepass"))
    os.lseek(source, 0, os.SEEK_SET)
    pipes = [os.pipe() for _ in range(3)]  # stdout, stderr, report
    child = os.fork()
    if child == 0:
        _be_the_child(code, case, limits, source, [write for _, write in pipes])
    os.close(source)
    for _, write in pipes:
        os.close(write)
    readers = [read for read, _ in pipes]
    try:
        texts, status, ended = _collect(child, readers, started + limits["seconds"], limits["output_bytes"])
    finally:
        _stop_all()
        for read in readers:
            os.close(read)
    report = ended or _report(bytes(texts[2]), status, is_call="function" in case)
    report["stdout"] = texts[0].decode("utf-8", "replace")
    if report["error"] == "" and report["ended"] != "finished":
        report["error"] = texts[1].decode("utf-8", "replace")[-KEPT_ERROR:].strip()
    return report | {"seconds": time.monotonic() - started}


def _be_the_child(code: str, case: dict[str, Any], limits: dict[str, Any], source: int, writers: list[int]) -> None:
    """Never returns. Copies that the code forks come back here too; only the case itself reports."""
    case_process = os.getpid()
    try:
        for target, fd in enumerate([os.dup2(fd, 100 + index) for index, fd in enumerate((source, *writers))]):
            os.dup2(fd, target)
        os.closerange(RESULT_FD + 1, 4096)
        sys.stdin = open(0, encoding="utf-8", errors="replace", closefd=False)  # noqa: SIM115
        sys.stdout = open(1, "w", encoding="utf-8", errors="backslashreplace", closefd=False)  # noqa: SIM115
        sys.stderr = open(2, "w", encoding="utf-8", errors="backslashreplace", closefd=False)  # noqa: SIM115
        _limit(limits)
        report = execute(code, case)
        data = json.dumps(report).encode() if os.getpid() == case_process else b""
        while data:
            data = data[os.write(RESULT_FD, data) :]
        os._exit(0)
    except MemoryError:
        if os.getpid() == case_process:
            os.write(RESULT_FD, b'{"ended": "out_of_memory", "error": "MemoryError", "value": null}')
    finally:
        os._exit(NOT_STARTED)


def _limit(limits: dict[str, Any]) -> None:
    cpu = int(limits["seconds"]) + 1
    for limit, value in (
        (resource.RLIMIT_AS, limits["memory_bytes"]),
        (resource.RLIMIT_FSIZE, limits["scratch_bytes"]),
        (resource.RLIMIT_NPROC, limits["processes"] + 2),  # this process and process 1
        (resource.RLIMIT_NOFILE, 64),
        (resource.RLIMIT_MEMLOCK, 0),
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_CPU, cpu),
    ):
        resource.setrlimit(limit, (value, value + 1 if limit == resource.RLIMIT_CPU else value))


def _collect(
    child: int, readers: list[int], deadline: float, most: int
) -> tuple[list[bytearray], int | None, dict[str, Any] | None]:
    """What the child wrote, its wait status, and the report where a limit has ended it."""
    texts = [bytearray() for _ in readers]
    status: int | None = None
    with selectors.DefaultSelector() as selector:
        for index, reader in enumerate(readers):
            selector.register(reader, selectors.EVENT_READ, index)
        while selector.get_map():
            left = deadline - time.monotonic()
            if left <= 0:
                return texts, status, {"ended": "timed_out", "error": "", "value": None}
            exited = status is not None  # before the last look at the pipes
            ready = selector.select(min(left, 0.02))
            for key, _ in ready:
                data = os.read(key.fd, 65536)
                if not data:
                    selector.unregister(key.fd)
                texts[key.data] += data
                if len(texts[key.data]) > most + (RESULT_ROOM if key.data == 2 else 0):
                    del texts[key.data][most:]
                    return texts, status, {"ended": "output_overflow", "error": "", "value": None}
            status = _reap(child, status)
            if exited and not ready:  # processes it left behind still hold the pipes
                return texts, status, None
    while status is None:
        if time.monotonic() > deadline:
            return texts, status, {"ended": "timed_out", "error": "", "value": None}
        status = _reap(child, status)
        time.sleep(0.0005 if status is None else 0)
    return texts, status, None


def _reap(child: int, status: int | None) -> int | None:
    """The wait status of `child` once it has one. Process 1 also inherits the orphans of others."""
    while True:
        try:
            pid, found = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return status
        if pid == 0:
            return status
        if pid == child:
            status = found


def _stop_all() -> None:
    """Ends every other process of the namespace, whatever its session or parent."""
    while True:
        with suppress(ProcessLookupError):
            os.kill(-1, signal.SIGKILL)
        try:
            os.waitpid(-1, 0)
        except ChildProcessError:
            return


def _report(text: bytes, status: int | None, *, is_call: bool) -> dict[str, Any]:
    if status is not None and os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        ended = "timed_out" if number == signal.SIGXCPU else "killed"
        return {"ended": ended, "error": f"signal {signal.Signals(number).name}", "value": None}
    try:
        found = json.loads(text)
        return {key: found[key] for key in ("ended", "error", "value")}
    except (ValueError, KeyError, TypeError, RecursionError):  # it left by os._exit, or wrote there itself
        code = os.WEXITSTATUS(status or 0)
        if code == 0 and not is_call:
            return {"ended": "finished", "error": "", "value": None}
        return {"ended": "raised", "error": f"it exited with status {code} and returned no value", "value": None}
