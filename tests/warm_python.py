"""Processes that run Python code of the product like `subprocess`, and begin with the libraries loaded: forks of a
`tests.warm_template`. To import them takes longer than most of what such a process does in a test.
"""

from __future__ import annotations

import atexit
import json
import os
import selectors
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import IO

REPOSITORY = Path(__file__).resolve().parents[1]


class WarmProcess:
    """Of `subprocess.Popen` what tests use."""

    def __init__(self, pid: int, report: IO[bytes]) -> None:
        self.pid = pid
        self.returncode: int | None = None
        self._report = report

    def poll(self) -> int | None:
        return self._look(0)

    def wait(self, timeout: float | None = None) -> int:
        if self._look(timeout) is None:
            raise subprocess.TimeoutExpired(f"process {self.pid}", timeout or 0)
        assert self.returncode is not None
        return self.returncode

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def _look(self, timeout: float | None) -> int | None:
        if self.returncode is None:
            with selectors.DefaultSelector() as selector:
                selector.register(self._report, selectors.EVENT_READ)
                if selector.select(timeout):
                    self.returncode = int(self._report.readline())
                    self._report.close()
        return self.returncode


Process = WarmProcess | subprocess.Popen[bytes]


def start(
    arguments: Sequence[str],
    *,
    env: dict[str, str],
    stdout: IO[bytes],
    stderr: IO[bytes] | None = None,
    stdin: IO[bytes] | None = None,
) -> Process:
    """`python` with these arguments, in the repository; without input, and with the error output of this process."""
    if "LD_PRELOAD" in env:  # which is read when a program is executed
        command = [sys.executable, *arguments]
        return subprocess.Popen(
            command, cwd=REPOSITORY, env=env, stdin=stdin or subprocess.DEVNULL, stdout=stdout, stderr=stderr
        )
    reader, writer = os.pipe()
    request = {"arguments": list(arguments), "environment": env, "directory": str(REPOSITORY)}
    with Path(os.devnull).open("rb") as nothing:
        descriptors = [(stdin or nothing).fileno(), stdout.fileno(), stderr.fileno() if stderr else 2, writer]
        socket.send_fds(_template(), [json.dumps(request).encode()], descriptors)
    os.close(writer)
    report = os.fdopen(reader, "rb", buffering=0)
    pid = report.readline()
    assert pid, "the template has ended; see its error output"
    return WarmProcess(int(pid), report)


def run(
    arguments: Sequence[str], *, env: dict[str, str], timeout: float, check: bool = False
) -> subprocess.CompletedProcess[str]:
    """As `subprocess.run`, with its output as text."""
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
        process = start(arguments, env=env, stdout=output, stderr=errors)
        try:
            process.wait(timeout)
        except subprocess.TimeoutExpired:
            process.kill()
            raise
        for file in (output, errors):
            file.seek(0)
        done = subprocess.CompletedProcess(
            list(arguments), process.wait(), output.read().decode(), errors.read().decode()
        )
    if check:
        done.check_returncode()
    return done


@cache
def _template() -> socket.socket:
    """Its end of the connection; the template ends with this process."""
    ours, its = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    command = [sys.executable, "-m", "tests.warm_template", str(its.fileno())]
    environment = {name: value for name, value in os.environ.items() if name != "DJANGO_SETTINGS_MODULE"}
    template = subprocess.Popen(command, cwd=REPOSITORY, env=environment, pass_fds=[its.fileno()])
    its.close()
    atexit.register(_end, template, ours)
    return ours


def _end(template: subprocess.Popen[bytes], control: socket.socket) -> None:
    control.close()
    template.wait(30)
