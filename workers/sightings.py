"""For how long this process has seen something unchanged, by its monotonic clock: a lease that is not renewed, a run
that waits for its restart, a job that is being played.

Wall clocks jump, and those of two machines differ. So what has to last for some time, and is not this process's own,
is timed from where this process saw it first. A new process begins again.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

from workers.app import ADOPT_SECONDS


@dataclass(slots=True)
class Sighting:
    value: object
    first: float
    newest: float
    farthest: float  # seconds to the next sighting


class Sightings:
    """Sightings with a long gap count for nothing: this process itself was suspended in between, perhaps with all
    others, and the holder of a lease has to have time for its next renewal."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.clock = clock
        self._lock = threading.Lock()
        self._seen: dict[str, Sighting] = {}

    def see(self, key: str, value: object, seconds: float) -> bool:
        """Whether `key` has been seen with this value for as long as `seconds`."""
        with self._lock:
            now, farthest = self.clock(), max(seconds, 3 * ADOPT_SECONDS)
            self._seen = {key: seen for key, seen in self._seen.items() if now - seen.newest <= 2 * seen.farthest}
            seen = self._seen.get(key)
            if seen is None or seen.value != value or now - seen.newest > farthest:
                self._seen[key] = Sighting(value, first=now, newest=now, farthest=farthest)
                return False
            seen.newest = now
            return now - seen.first >= seconds


leases, restarts, jobs = Sightings(), Sightings(), Sightings()
