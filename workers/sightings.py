"""For how long this process has seen each lease unchanged, by its monotonic clock."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from workers.app import ADOPT_SECONDS

Renewal = tuple[int, datetime]  # the epoch of a lease, and its expiry as written at its last renewal


@dataclass(slots=True)
class Sighting:
    renewal: Renewal
    first: float
    newest: float


class Sightings:
    """A lease has expired once it was seen unchanged for its whole duration.

    Sightings with a long gap count for nothing: this process itself was suspended in between, perhaps with all
    others, and the holder has to have time for its next renewal.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.clock = clock
        self._lock = threading.Lock()
        self._seen: dict[str, Sighting] = {}

    def see(self, run_id: str, renewal: Renewal, lease: float) -> bool:
        """Whether the lease has expired."""
        with self._lock:
            now, farthest = self.clock(), max(lease, 3 * ADOPT_SECONDS)
            self._seen = {key: seen for key, seen in self._seen.items() if now - seen.newest <= 2 * farthest}
            seen = self._seen.get(run_id)
            if seen is None or seen.renewal != renewal or now - seen.newest > farthest:
                self._seen[run_id] = Sighting(renewal, first=now, newest=now)
                return False
            seen.newest = now
            return now - seen.first >= lease


of_this_worker = Sightings()
