"""Runs the command of a sandbox from outside: feeds it, reads what it reports, and enforces time and size.

Whatever the sandbox writes is untrusted. The command is killed when a case is overdue or writes too much, and nothing
of it remains when `run_command` returns.
"""

from __future__ import annotations

import json
import os
import selectors
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import asdict
from typing import Any

from engine.sandbox.outcomes import Call, Case, CaseResult, Limits, Outcome

STARTUP_SECONDS = 10.0
GRACE_SECONDS = 1.0  # beyond a case's own limit, which is enforced within the sandbox first
END_SECONDS = 5.0
KEPT_ERROR = 2000


class Overdue(Exception):
    pass


class TooMuch(Exception):
    pass


def as_json(case: Case) -> dict[str, Any]:
    if isinstance(case, Call):
        return {"function": case.function, "arguments": list(case.arguments)}
    return {"stdin": case.stdin}


def result_of(frame: Any, outcome: Outcome | None = None) -> CaseResult:
    """What a sandbox reported of a case; `ValueError` where it is no such report."""
    try:
        value = frame["value"]
        return CaseResult(
            outcome=outcome or Outcome(frame["ended"]),
            stdout=str(frame["stdout"]),
            value=None if value is None else str(value),
            error=str(frame["error"])[:KEPT_ERROR],
            seconds=float(frame["seconds"]),
        )
    except (KeyError, TypeError) as error:
        raise ValueError(f"not a report of a case: {error}") from None


def run_command(
    command: Sequence[str], code: str, cases: Sequence[Case], limits: Limits, *, user: int | None
) -> list[CaseResult]:
    """A result for each case; `user` is passed on to `inside.serve`."""
    request = {"code": code, "cases": [as_json(case) for case in cases], "limits": asdict(limits), "user": user}
    source = os.memfd_create("request")
    try:
        os.write(source, json.dumps(request).encode())
        os.lseek(source, 0, os.SEEK_SET)
        process = subprocess.Popen(
            list(command),
            stdin=source,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8"},
            cwd="/",
            start_new_session=True,
        )
    except OSError as error:
        failed = CaseResult(outcome=Outcome.SANDBOX_FAILED, error=str(error))
        return [failed] * len(cases)
    finally:
        os.close(source)
    with process, closing(_Reader(process)) as reader:
        try:
            return _results(process, reader, len(cases), limits)
        finally:
            process.kill()
            reader.await_end()


def _results(process: subprocess.Popen[bytes], reader: _Reader, count: int, limits: Limits) -> list[CaseResult]:
    results: list[CaseResult] = []
    line_limit = 20 * limits.output_bytes  # three texts, of which JSON makes at most six times as much
    over = time.monotonic() + STARTUP_SECONDS
    try:
        reader.line(over, line_limit)
    except (Overdue, TooMuch, EOFError, ValueError):
        process.kill()
        reason = reader.errors() or "it did not start"
        return [CaseResult(outcome=Outcome.SANDBOX_FAILED, error=reason)] * count
    over = time.monotonic() + limits.total_seconds
    while len(results) < count:
        try:
            due = min(over, time.monotonic() + limits.seconds + GRACE_SECONDS)
            results.append(result_of(reader.line(due, line_limit)))
        except (Overdue, TooMuch, EOFError, ValueError) as error:
            results.append(CaseResult(outcome=OUTCOMES[type(error)], error=reader.errors()))
            break
    return results + [CaseResult(outcome=Outcome.NOT_RUN)] * (count - len(results))


OUTCOMES = {
    Overdue: Outcome.TIMED_OUT,
    TooMuch: Outcome.OUTPUT_OVERFLOW,
    EOFError: Outcome.SANDBOX_FAILED,
    ValueError: Outcome.SANDBOX_FAILED,
}


class _Reader:
    """Lines of JSON from stdout, within time and size; the end of stderr is kept."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self.selector = selectors.DefaultSelector()
        for name, stream in (("stdout", process.stdout), ("stderr", process.stderr)):
            if stream is not None:
                self.selector.register(stream, selectors.EVENT_READ, name)
        self.text = bytearray()
        self.error = bytearray()

    def close(self) -> None:
        self.selector.close()

    def line(self, due: float, most: int) -> Any:
        """The next line, parsed. Raises Overdue, TooMuch, EOFError at the end, or ValueError for what is not JSON."""
        while b"\n" not in self.text:
            if len(self.text) > most:
                raise TooMuch
            self._read(due - time.monotonic())
        line, _, rest = self.text.partition(b"\n")
        self.text = rest
        try:
            return json.loads(line)
        except (ValueError, RecursionError):
            raise ValueError from None

    def await_end(self) -> None:
        """Waits until process 1 of the sandbox is gone, which has the other end of stdout, and with it all others."""
        for _ in self._drain(END_SECONDS):
            self.text.clear()

    def errors(self) -> str:
        """The last line of stderr; waits a moment for it."""
        for _ in self._drain(0.2):
            pass
        lines = self.error.decode("utf-8", "replace").strip().splitlines()
        return lines[-1][:KEPT_ERROR] if lines else ""

    def _drain(self, seconds: float) -> Iterator[None]:
        due = time.monotonic() + seconds
        while self.selector.get_map() and time.monotonic() < due:
            try:
                self._read(due - time.monotonic())
            except (Overdue, EOFError):
                return
            yield

    def _read(self, seconds: float) -> None:
        if seconds <= 0 or not (ready := self.selector.select(seconds)):
            raise Overdue
        for key, _ in ready:
            data = os.read(key.fd, 65536)
            if not data:
                self.selector.unregister(key.fileobj)
            elif key.data == "stdout":
                self.text += data
            else:
                self.error = (self.error + data)[-KEPT_ERROR:]
        if not any(key.data == "stdout" for key in self.selector.get_map().values()) and b"\n" not in self.text:
            raise EOFError
