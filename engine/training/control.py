"""Requests to a running engine: stop, pause, write a checkpoint, change settings. They come from `control.json` and
from signals."""

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


class StopRequested(Exception):
    """The user requested a stop; the step in progress is abandoned and does not count."""


class Interrupted(StopRequested):
    """The engine received SIGTERM or SIGINT: save a checkpoint and exit, to be resumed later."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestedSettings:
    """All requested changes of settings, by dotted field; each new request has a higher revision."""

    revision: int = 0
    changes: dict[str, Any] = field(default_factory=dict)


class Control:
    def __init__(self, path: Path, *, epoch: int) -> None:
        self.path = path
        self.epoch = epoch
        self.request = "run"
        self.checkpoint_requested = 0
        self.settings = RequestedSettings()
        self._checkpoint_done: int | None = None
        self._interrupted = False
        self._next_poll = 0.0

    def install_signal_handlers(self) -> None:
        """SIGTERM and SIGINT end the run at the next poll, with a checkpoint."""
        signal.signal(signal.SIGTERM, self._interrupt)
        signal.signal(signal.SIGINT, self._interrupt)

    def check_cancelled(self) -> None:
        """Raises `StopRequested` when the run should end. Cheap: reads the file at most four times a second."""
        now = time.monotonic()
        if now >= self._next_poll:
            self._next_poll = now + POLL_SECONDS
            self._read()
        if self._interrupted:
            raise Interrupted
        if self.request == "stop":
            raise StopRequested

    def poll(self) -> None:
        """`check_cancelled` after reading the file now, for the boundary between two steps."""
        self._next_poll = 0.0
        self.check_cancelled()

    @property
    def paused(self) -> bool:
        self.check_cancelled()
        return self.request == "pause"

    def request_pause(self) -> None:
        """Requests a pause as a user would, in the same file, so that it is resumed in the same way.

        A stop that was already requested takes precedence.
        """
        self._read()
        if self.request != "run":
            return
        self.request = "pause"
        data: dict[str, Any] = {"request": "pause", "checkpoint": self.checkpoint_requested, "epoch": self.epoch}
        if self.settings.revision:
            data["settings"] = {"revision": self.settings.revision, "changes": self.settings.changes}
        write_json(self.path, data)

    def take_checkpoint_request(self) -> bool:
        """True once for each increase of the counter since the engine started."""
        due = self._checkpoint_done is not None and self.checkpoint_requested > self._checkpoint_done
        self._checkpoint_done = self.checkpoint_requested
        return due

    def _read(self) -> None:
        try:
            data = json.loads(self.path.read_text())
        except (FileNotFoundError, ValueError):
            data = {}
        if int(data.get("epoch", self.epoch)) < self.epoch:
            return  # a request of an earlier supervisor
        self.epoch = int(data.get("epoch", self.epoch))
        self.request = str(data.get("request", "run"))
        self.checkpoint_requested = int(data.get("checkpoint", 0))
        self.settings = _requested_settings(data.get("settings"))
        if self._checkpoint_done is None:
            self._checkpoint_done = self.checkpoint_requested

    def _interrupt(self, _signal: int, _frame: FrameType | None) -> None:
        self._interrupted = True


def _requested_settings(data: Any) -> RequestedSettings:
    """No changes where the file has none, or has them in another form."""
    if not isinstance(data, dict) or not isinstance(data.get("changes"), dict):
        return RequestedSettings()
    revision = data.get("revision")
    return (
        RequestedSettings(revision=revision, changes=data["changes"])
        if isinstance(revision, int)
        else RequestedSettings()
    )
