"""A process that answers calls, from the side of its owner: started when needed, killed when it takes too long."""

from __future__ import annotations

import json
import os
import queue
import selectors
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, Any, cast

Process = subprocess.Popen[bytes]
REPOSITORY = Path(__file__).resolve().parents[2]
STARTING_SECONDS = 60.0  # a first call also waits for imports
RECYCLED_AFTER = 500  # calls: what environments leak does not add up
MEMORY_MIB = 4096


class CallFailed(Exception):
    """Why a call has no result; the message is for users. `unasked` if the environment never got to run."""

    def __init__(self, message: str, *, unasked: bool = False) -> None:
        super().__init__(message)
        self.unasked = unasked


class Helper:
    """One process. Not for two threads at once; `HelperPool` sees to that."""

    def __init__(self, *, memory_mib: int = MEMORY_MIB, nice: int = 0, withheld: Sequence[str] = ()) -> None:
        options = ["--memory-mib", str(memory_mib), "--nice", str(nice)]
        self.command = [sys.executable, "-m", "engine", "environment-calls", *options]
        self.withheld = frozenset(withheld)
        self.process: Process | None = None
        self.calls = 0

    def call(self, call: str, config: Mapping[str, Any], arguments: Mapping[str, Any], *, seconds: float) -> Any:
        """The result of the call; `CallFailed` with the reason if there is none."""
        starting = self.process is None or self.process.poll() is not None
        process = self._started() if starting else cast("Process", self.process)
        stdin = cast("IO[bytes]", process.stdin)
        request = json.dumps({"call": call, "config": dict(config), "arguments": dict(arguments)})
        try:
            stdin.write(request.encode("ascii") + b"\n")
            stdin.flush()
            line = self._line(process, seconds + (STARTING_SECONDS if starting else 0.0), seconds)
        except (OSError, CallFailed) as error:
            status = self.stop()
            if isinstance(error, CallFailed):
                raise
            raise CallFailed(f"The environment ended its process, with status {status}.") from None
        self.calls += 1
        if self.calls >= RECYCLED_AFTER:
            self.stop()
        answer = json.loads(line)
        if "error" in answer:
            raise CallFailed(answer["error"])
        return answer["result"]

    def warm_up(self) -> None:
        if self.process is None or self.process.poll() is not None:
            self._started()

    def stop(self) -> int | None:
        """Kills the process and all that it started in its session; returns its exit status."""
        process, self.process, self.calls = self.process, None, 0
        if process is None:
            return None
        status = process.poll()
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                with suppress(OSError):  # what was written to it was never read
                    pipe.close()
        process.wait()
        return process.returncode if status is None else status

    def _started(self) -> Process:
        self.stop()
        variables = {name: value for name, value in os.environ.items() if name not in self.withheld}
        self.process = subprocess.Popen(
            self.command,
            cwd=REPOSITORY,
            env={**variables, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        return self.process

    def _line(self, process: Process, wait: float, seconds: float) -> bytes:
        stdout = cast("IO[bytes]", process.stdout)
        deadline = time.monotonic() + wait
        read = b""
        with selectors.DefaultSelector() as selector:
            selector.register(stdout, selectors.EVENT_READ)
            while not read.endswith(b"\n"):
                left = deadline - time.monotonic()
                if left <= 0 or not selector.select(left):
                    raise CallFailed(f"The environment did not answer within {seconds:g} s and was stopped.")
                part = os.read(stdout.fileno(), 1 << 16)
                if not part:
                    raise CallFailed(_why_ended(process))
                read += part
        return read


def _why_ended(process: Process) -> str:
    try:
        status = process.wait(timeout=2)
    except subprocess.TimeoutExpired:
        return "The environment closed its output."
    if status == -signal.SIGKILL:
        return "The environment's process was killed, probably because the machine had no memory left."
    return f"The environment ended its process, with status {status}."


class HelperPool:
    """Some helpers, each for one call at a time."""

    def __init__(self, size: int, **options: Any) -> None:
        self.helpers = [Helper(**options) for _ in range(size)]
        self._free: queue.LifoQueue[Helper] = queue.LifoQueue()
        for helper in self.helpers:
            self._free.put(helper)

    def call(self, call: str, config: Mapping[str, Any], arguments: Mapping[str, Any], *, seconds: float) -> Any:
        try:
            helper = self._free.get(timeout=seconds)
        except queue.Empty:
            raise CallFailed("Other environments are running at the moment. Try again soon.", unasked=True) from None
        try:
            return helper.call(call, config, arguments, seconds=seconds)
        finally:
            self._free.put(helper)

    def warm_up(self) -> None:
        """Starts one, so that the first call need not wait for imports."""
        self.helpers[-1].warm_up()

    def stop(self) -> None:
        """Kills the processes. A call in progress sees the end of its pipe and fails; it closes the pipe itself, as
        one that is closed under it would never wake it."""
        for helper in self.helpers:
            process = helper.process
            if process is not None:
                with suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
