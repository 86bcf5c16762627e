"""The newest event of a run, in a file beside its events: no number is given again if those are cut or deleted.

Only the file of events is the record. This one may be missing, or one event behind.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from pydantic import BaseModel, ValidationError

FILE = "newest_event.json"
LENGTH = 128  # bytes, of which the last are spaces


class NewestEvent(BaseModel):
    """Its number, and the attempt and epoch of the engine that recorded it; zeros if nothing is known."""

    seq: int = 0
    attempt: int = 0
    epoch: int = 0


def read_newest(run_directory: Path) -> NewestEvent:
    try:
        return NewestEvent.model_validate_json((run_directory / FILE).read_bytes())
    except (OSError, ValidationError):
        return NewestEvent()


class NewestEventFile:
    """Replaced in place by one write of a fixed length, which takes microseconds: it follows every event. Where the
    disk has no room for it, it is left as it is: the events themselves are in their own file."""

    def __init__(self, run_directory: Path) -> None:
        self._file: int | None = None
        with suppress(OSError):
            self._file = os.open(run_directory / FILE, os.O_WRONLY | os.O_CREAT, 0o644)

    def write(self, newest: NewestEvent) -> None:
        if self._file is not None:
            with suppress(OSError):
                os.pwrite(self._file, newest.model_dump_json().encode().ljust(LENGTH), 0)

    def close(self) -> None:
        if self._file is not None:
            os.close(self._file)
