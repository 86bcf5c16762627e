"""Reads `heartbeat.json`: how long ago, by our own clock, the engine last sent a heartbeat and last made progress."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

Beat = dict[str, Any]


def read_beat(path: Path) -> Beat | None:
    try:
        beat = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return None
    return beat if isinstance(beat, dict) else None


@dataclass(slots=True)
class Pulse:
    """Ages are measured from when this process saw a change, so that a jump of the clock has no effect."""

    path: Path
    cookie: str  # heartbeats of another attempt's engine are ignored
    beat: Beat | None = None
    beat_seen: float = field(default_factory=time.monotonic)
    progress_seen: float = field(default_factory=time.monotonic)

    def poll(self) -> bool:
        """Reads the file; True if there is a new heartbeat."""
        beat = read_beat(self.path)
        if beat is None or beat == self.beat or beat.get("cookie") != self.cookie:
            return False
        if _progress(beat) != _progress(self.beat):
            self.note_progress()
        self.beat = beat
        self.beat_seen = time.monotonic()
        return True

    def note_progress(self) -> None:
        self.progress_seen = time.monotonic()

    def phase(self) -> str:
        """The engine's phase at its newest heartbeat; empty before the first."""
        return str((self.beat or {}).get("phase", ""))

    def recorded(self) -> int:
        """Number of events that the engine had recorded at its newest heartbeat."""
        seq = (self.beat or {}).get("seq", 0)
        return seq if isinstance(seq, int) else 0

    def beat_age(self) -> float:
        return time.monotonic() - self.beat_seen

    def progress_age(self) -> float:
        return time.monotonic() - self.progress_seen


def _progress(beat: Beat | None) -> tuple[Any, ...] | None:
    return None if beat is None else (beat.get("seq"), beat.get("phase"), beat.get("step"))
