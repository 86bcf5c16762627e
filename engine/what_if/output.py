"""What a fork tells while it goes on: a file of JSON lines that a page reads from where it left off."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

from engine.what_if.request import EVENTS

PAUSE = 0.05  # seconds between two messages of sampled words


class Output:
    """One line a message, its `kind` first; words are gathered for a moment, and told before anything else is."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        self.file = (folder / EVENTS).open("a")
        self.turn, self.words, self.told_at = 0, "", 0.0

    def tell(self, kind: str, **fields: Any) -> None:
        self._tell_words()
        self._write({"kind": kind, "time": time.time(), **fields})

    def say(self, turn: int, words: str) -> None:
        """Words that were sampled in `turn`."""
        self.turn = turn
        self.words += words
        if time.monotonic() - self.told_at >= PAUSE:
            self._tell_words()

    def close(self) -> None:
        self._tell_words()
        self.file.close()

    def _tell_words(self) -> None:
        if self.words:
            self._write({"kind": "words", "turn": self.turn, "text": self.words})
        self.words, self.told_at = "", time.monotonic()

    def _write(self, message: dict[str, Any]) -> None:
        self.file.write(json.dumps(message) + "\n")
        self.file.flush()
