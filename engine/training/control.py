"""What the outside asks of a running engine: stop, pause, checkpoint, other settings. Read from `control.json` and from
signals."""

from __future__ import annotations

import json
import signal
import time
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any

from engine.training.run_directory import write_json

POLL_SECONDS = 0.25


class StopAsked(Exception):
    """The user asked the run to stop; the step in progress is abandoned and counts for nothing."""


class Interrupted(StopAsked):
    """The machine asks the engine to leave (SIGTERM): save, and go on later."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """All changes of settings that are asked for, by dotted field; each new wish has a higher revision."""

    revision: int = 0
    changes: dict[str, Any] = field(default_factory=dict)


class Control:
    def __init__(self, path: Path, *, epoch: int) -> None:
        self.path = path
        self.epoch = epoch
        self.request = "run"
        self.checkpoint_asked = 0
        self.wanted = Wanted()
        self._checkpoint_done: int | None = None
        self._interrupted = False
        self._next_look = 0.0

    def listen_to_signals(self) -> None:
        """SIGTERM and SIGINT end the run at the next look, with a checkpoint."""
        signal.signal(signal.SIGTERM, self._interrupt)
        signal.signal(signal.SIGINT, self._interrupt)

    def check(self) -> None:
        """Raises `StopAsked` when it is time to leave. Cheap: the file is read four times a second at most."""
        now = time.monotonic()
        if now >= self._next_look:
            self._next_look = now + POLL_SECONDS
            self._read()
        if self._interrupted:
            raise Interrupted
        if self.request == "stop":
            raise StopAsked

    def look(self) -> None:
        """`check` with what the file says right now, for the boundary between two steps."""
        self._next_look = 0.0
        self.check()

    @property
    def paused(self) -> bool:
        self.check()
        return self.request == "pause"

    def ask_to_pause(self) -> None:
        """Asks for a pause as a user would, in the same file, so that whoever resumes one resumes the other.

        A stop that is asked for already stands.
        """
        self._read()
        if self.request != "run":
            return
        self.request = "pause"
        asked: dict[str, Any] = {"request": "pause", "checkpoint": self.checkpoint_asked, "epoch": self.epoch}
        if self.wanted.revision:
            asked["settings"] = {"revision": self.wanted.revision, "changes": self.wanted.changes}
        write_json(self.path, asked)

    def take_checkpoint_request(self) -> bool:
        """True once for each rise of the counter since the engine started."""
        due = self._checkpoint_done is not None and self.checkpoint_asked > self._checkpoint_done
        self._checkpoint_done = self.checkpoint_asked
        return due

    def _read(self) -> None:
        try:
            asked = json.loads(self.path.read_text())
        except (FileNotFoundError, ValueError):
            asked = {}
        if int(asked.get("epoch", self.epoch)) < self.epoch:
            return  # an older supervisor's wish
        self.epoch = int(asked.get("epoch", self.epoch))
        self.request = str(asked.get("request", "run"))
        self.checkpoint_asked = int(asked.get("checkpoint", 0))
        self.wanted = _wanted(asked.get("settings"))
        if self._checkpoint_done is None:
            self._checkpoint_done = self.checkpoint_asked

    def _interrupt(self, _signal: int, _frame: FrameType | None) -> None:
        self._interrupted = True


def _wanted(asked: Any) -> Wanted:
    """Nothing is wanted where the file says nothing, or says it in another form."""
    if not isinstance(asked, dict) or not isinstance(asked.get("changes"), dict):
        return Wanted()
    revision = asked.get("revision")
    return Wanted(revision=revision, changes=asked["changes"]) if isinstance(revision, int) else Wanted()
