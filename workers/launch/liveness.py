"""When a process that is alive has not answered its probes for so long that it can only hang. It decides by the times
that it is given, and probes nothing itself.

Times are those of `time.monotonic`, which does not count while the machine is suspended.
"""

from __future__ import annotations

from dataclasses import dataclass

Answer = bool | None  # whether it answered; None if that could not be found out


@dataclass(frozen=True, slots=True)
class ProbeTimes:
    """Seconds. All but the first two are the same for a process that starts."""

    unanswered: float = 120.0  # that a process may not answer
    startup: float = 300.0  # until the first answer, on a machine that is busy
    interval: float = 10.0  # from a result to the next probe
    timeout: float = 30.0  # of a probe
    stall: float = 10.0  # of the launcher itself, after which it cannot say who did not answer


class Liveness:
    """Of one process, from its start on."""

    def __init__(self, times: ProbeTimes, now: float) -> None:
        self.times = times
        self.since = self._watched_at = now
        self.has_answered = False

    def tick(self, now: float) -> None:
        """Called all the time. The time without an answer begins again after a gap: the machine was too busy or stood
        still, with all its processes."""
        if now - self._watched_at > self.times.stall:
            self.since = now
        self._watched_at = now

    def note(self, answer: Answer, now: float) -> bool:
        """Whether the process has not answered for too long. A probe without a result begins that time again."""
        self.has_answered = self.has_answered or answer is True
        if answer is not False:
            self.since = now
        return now - self.since >= (self.times.unanswered if self.has_answered else self.times.startup)
