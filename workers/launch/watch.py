"""Probes a process of the launcher again and again. The launcher's loop never waits for it: each probe runs in a thread
of its own, and there is one at a time.

The threads only probe. Processes are started by the main thread, since Linux ends a child when the thread that
started it ends.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from threading import Thread

from workers.launch.liveness import Answer, Liveness, ProbeTimes

Probe = Callable[[int], Answer]  # with the process ID


class Watch:
    """`begin` for each process that is started, then `is_unresponsive` all the time."""

    def __init__(self, probe: Probe, times: ProbeTimes) -> None:
        self.probe, self.times = probe, times

    def begin(self, pid: int, now: float) -> None:
        """A probe of the process before counts no more."""
        self.pid = pid
        self.liveness = Liveness(self.times, now)
        self._running: Future[Answer] | None = None
        self._next_at = now + self.times.interval

    def is_unresponsive(self, now: float) -> bool:
        self.liveness.tick(now)
        if self._running is None:
            if now >= self._next_at:
                self._running = _started(self.probe, self.pid)
            return False
        if not self._running.done():
            return False
        answer = self._running.result()
        self._running, self._next_at = None, now + self.times.interval
        return self.liveness.note(answer, now)


def _started(probe: Probe, pid: int) -> Future[Answer]:
    """Its result is None if the probe fails in a way that nobody has foreseen: no reason to end a process."""
    answer: Future[Answer] = Future()

    def run() -> None:
        try:
            answer.set_result(probe(pid))
        except Exception:
            answer.set_result(None)

    try:
        Thread(target=run, name=f"probe of {pid}", daemon=True).start()
    except RuntimeError:  # no more threads
        answer.set_result(None)
    return answer
