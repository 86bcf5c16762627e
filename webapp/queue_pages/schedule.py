"""When queued runs are expected to start and to end, from what is left of those that hold engine slots."""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Expected:
    """Seconds from now; None where it is unknown."""

    start: float | None
    end: float | None


def schedule(held: Sequence[float | None], durations: Sequence[float | None], slots: int) -> list[Expected]:
    """Of queued runs in their order: each takes the slot that is free first. `held` are the seconds that the holders of
    slots have left. A slot whose end is unknown may be the first to be free, so after one nothing is known."""
    free = [0.0] * max(0, slots - len(held))
    unknown = any(left is None for left in held)
    ends = free + [left for left in held if left is not None]
    heapq.heapify(ends)
    found: list[Expected] = []
    for duration in durations:
        now = bool(ends) and ends[0] == 0.0
        start = heapq.heappop(ends) if ends and (now or not unknown) else None
        end = start + duration if start is not None and duration is not None else None
        found.append(Expected(start=start, end=end))
        if end is None:
            unknown = True
        else:
            heapq.heappush(ends, end)
    return found
