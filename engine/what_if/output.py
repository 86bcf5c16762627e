"""The events of a what-if as a file of JSON lines, which a page reads from where it left off."""

from __future__ import annotations

import json
import time
from pathlib import Path

from engine.what_if.events import TextSampled, WhatIfEvent
from engine.what_if.request import EVENTS

PAUSE = 0.05  # seconds between two events of sampled text


class Output:
    """One line an event. Sampled text is gathered for a moment, and written before any other event."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        self.file = (folder / EVENTS).open("a")
        self.turn, self.text, self.flushed_at = 0, "", 0.0

    def emit(self, event: WhatIfEvent) -> None:
        self._flush_text()
        self._write(event)

    def add_text(self, turn: int, text: str) -> None:
        """Text that was sampled in `turn`."""
        self.turn = turn
        self.text += text
        if time.monotonic() - self.flushed_at >= PAUSE:
            self._flush_text()

    def close(self) -> None:
        self._flush_text()
        self.file.close()

    def _flush_text(self) -> None:
        if self.text:
            self._write(TextSampled(turn=self.turn, text=self.text))
        self.text, self.flushed_at = "", time.monotonic()

    def _write(self, event: WhatIfEvent) -> None:
        stamped = event.model_copy(update={"time": time.time()})
        # lone surrogates cannot be UTF-8; the ASCII escapes of `json` keep them
        self.file.write(json.dumps(stamped.model_dump(mode="json")) + "\n")
        self.file.flush()
