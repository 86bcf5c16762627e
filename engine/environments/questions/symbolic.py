"""Whether two formulas are equal, by `math-verify` if it is installed. Without it, no two are.

It computes with SymPy, which some formulas keep busy forever, and its own time limit needs the main thread. So it runs
in a process of its own, one for each process that asks, which is killed when it takes too long.
"""

from __future__ import annotations

import json
import math
import os
import re
import select
import subprocess
import sys
import threading
from functools import cache
from importlib.util import find_spec
from pathlib import Path

SECONDS = 3.0  # for a comparison
SECONDS_TO_START = 30.0
LONGEST = 200  # characters of a formula
MEMORY_BYTES = 2 << 30
READY = "ready"
_OF_A_FORMULA = re.compile(r"[\d\\^+*/=()\[\]<>]")


@cache
def is_installed() -> bool:
    return find_spec("math_verify") is not None


def symbolically_equal(given: str, expected: str) -> bool:
    """False too if the comparison takes too long or fails, and where no formula is expected, such as for a name."""
    if not is_installed() or not given.strip() or max(len(given), len(expected)) > LONGEST:
        return False
    if not _OF_A_FORMULA.search(expected):
        return False
    return _worker(os.getpid()).ask(given, expected)


@cache
def _worker(process: int) -> _Worker:
    """One for each process: pipes must not be shared by processes that were forked."""
    return _Worker()


class _Worker:
    """The process that compares. It ends when its input is closed, so also when this process ends."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.process: subprocess.Popen[str] | None = None

    def ask(self, given: str, expected: str) -> bool:
        with self.lock:
            try:
                running = self._started()
                return self._exchange(running, json.dumps([given, expected]), SECONDS) == "true"
            except (OSError, TimeoutError):
                self._stop()
                return False

    def _started(self) -> subprocess.Popen[str]:
        if self.process is None or self.process.poll() is not None:
            script = Path(__file__).with_name("symbolic_worker.py")
            self.process = subprocess.Popen(
                [sys.executable, "-P", str(script), str(MEMORY_BYTES), str(math.ceil(SECONDS) + 1)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
            )
            if self._line(self.process, SECONDS_TO_START) != READY:
                raise OSError("The process for math-verify did not start.")
        return self.process

    def _exchange(self, running: subprocess.Popen[str], message: str, seconds: float) -> str:
        if running.stdin is not None:
            running.stdin.write(message + "\n")
            running.stdin.flush()
        return self._line(running, seconds)

    def _line(self, running: subprocess.Popen[str], seconds: float) -> str:
        """The next line. There is at most one, as each is a response, so none waits in the buffer."""
        if running.stdout is None or not select.select([running.stdout], [], [], seconds)[0]:
            raise TimeoutError
        line = running.stdout.readline().strip()
        if not line:
            raise OSError("The process for math-verify ended.")
        return line

    def _stop(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            for pipe in (self.process.stdin, self.process.stdout):
                if pipe is not None:
                    pipe.close()
            self.process = None
