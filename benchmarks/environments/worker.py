"""A process that measures on request, one a line, so that two libraries can take turns.

A request is `{"suite": "steps", "index": 3, "side": "ours", "seconds": 1, "first_seed": 0}`; its answer the rates.
"""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.environments.cases import MOST_STEPS, PROBLEMS, STEPS, our_examples
from benchmarks.environments.timing import make, play

ROOT = Path(__file__).resolve().parents[2]
LONGEST_ANSWER = 2000  # characters of an error


class Worker:
    """Measures in a process of its own under `python`."""

    def __init__(self, python: str) -> None:
        command = [python, "-m", "benchmarks.environments.worker"]
        self.process = subprocess.Popen(
            command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )

    def measure(self, **request: Any) -> dict[str, float]:
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit(f"The process that measures {request} ended.")
        answer: dict[str, Any] = json.loads(line)
        if "error" in answer:
            raise SystemExit(f"{request} failed: {answer['error']}")
        return answer

    def close(self) -> None:
        if self.process.stdin is not None:
            self.process.stdin.close()
        self.process.wait(timeout=30)


@contextlib.contextmanager
def worker(python: str) -> Iterator[Worker]:
    started = Worker(python)
    try:
        yield started
    finally:
        started.close()


class Measured:
    """The players of this process, which are kept, as making one can take longer than a measurement."""

    def __init__(self) -> None:
        self.players: dict[tuple[str, int | str, str], Any] = {}

    def rates(self, request: dict[str, Any]) -> dict[str, float]:
        suite, index, side = request["suite"], request["index"], request["side"]
        if (suite, index, side) not in self.players:
            self.players[suite, index, side] = self._made(suite, index, side)
        player = self.players[suite, index, side]
        bounds = {"seconds": request["seconds"], "first_seed": request["first_seed"]}
        if suite == "problems":
            return {"problems": make(player, **bounds)}
        return play(player, **bounds, most_steps=MOST_STEPS)._asdict()

    @staticmethod
    def _made(suite: str, index: int | str, side: str) -> Any:
        if suite == "examples":
            return our_examples()[str(index)]()
        pair = (PROBLEMS if suite == "problems" else STEPS)[int(index)]
        return (pair.ours if side == "ours" else pair.theirs)()


def main() -> int:
    answers, sys.stdout = sys.stdout, sys.stderr  # some libraries print
    measured = Measured()
    for line in sys.stdin:
        try:
            answer: dict[str, Any] = measured.rates(json.loads(line))
        except Exception as error:  # of whatever library is measured; who asked decides
            answer = {"error": f"{type(error).__name__}: {error}"[:LONGEST_ANSWER]}
        answers.write(json.dumps(answer) + "\n")
        answers.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main())
