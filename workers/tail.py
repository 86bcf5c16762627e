"""Reads `events.jsonl` by byte offset. A last line without a newline is not yet an event."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from engine.events import Event, TrajectoriesRecorded, parse_event

log = logging.getLogger(__name__)

CHUNK_BYTES = 4 << 20
LONGEST_REASON = 500
ABSENT = (FileNotFoundError, NotADirectoryError)
# PostgreSQL refuses NUL in text and JSON; output of a model or an environment may contain it.
NUL_ESCAPE, REPLACEMENT_ESCAPE = rb"\u0000", rb"\ufffd"


@dataclass(frozen=True, slots=True, kw_only=True)
class Chunk:
    """The events of complete lines between two offsets; `damaged` counts lines that are not events."""

    events: list[Event]
    start: int
    end: int
    damaged: int


def read_chunk(path: Path, offset: int, limit: int = CHUNK_BYTES) -> Chunk:
    """The next complete lines after `offset`: about `limit` bytes, and at least one line if one is complete.

    A file that is shorter than `offset` was truncated: it is read again from the beginning, and events with a known
    `seq` have no effect.
    """
    try:
        file = path.open("rb")
    except ABSENT:
        return Chunk(events=[], start=offset, end=offset, damaged=0)
    with file:
        if file.seek(0, 2) < offset:
            log.warning("%s is shorter than what was read; reading it again", path)
            offset = 0
        file.seek(offset)
        data = file.read(limit)
        if b"\n" not in data and len(data) == limit:
            data += file.readline()
    whole = data[: data.rfind(b"\n") + 1]
    return _parsed(whole, offset, path)


def _parsed(whole: bytes, offset: int, path: Path) -> Chunk:
    """Up to the next trajectory file: reading one takes a while, and curves need not wait for it."""
    events: list[Event] = []
    damaged = 0
    end = offset
    for line in whole.split(b"\n")[:-1]:
        try:
            event = parse_event(line.replace(NUL_ESCAPE, REPLACEMENT_ESCAPE))
        except ValidationError:
            damaged += 1
        else:
            if isinstance(event, TrajectoriesRecorded) and events:
                break
            events.append(event)
        end += len(line) + 1
    if damaged:
        log.warning("%s: %d damaged lines between bytes %d and %d", path, damaged, offset, end)
    return Chunk(events=events, start=offset, end=end, damaged=damaged)


def truncate_partial_line(path: Path) -> int:
    """Removes a partial last line, left by a killed engine, before another attempt appends; returns the bytes removed.

    Only for the holder of the lease, while no engine of the run is alive.
    """
    try:
        file = path.open("r+b")
    except ABSENT:
        return 0
    with file:
        data = file.read()
        whole = data.rfind(b"\n") + 1
        file.truncate(whole)
    return len(data) - whole


def log_tail(path: Path, lines: int = 12, limit: int = 16_384) -> str:
    """The last lines of `engine.log`, for the reason of an end that the engine did not report."""
    try:
        with path.open("rb") as file:
            size = file.seek(0, 2)
            file.seek(max(0, size - limit))
            text = file.read().decode(errors="replace").replace("\0", "�")
    except ABSENT:
        return ""
    return "\n".join(text.rstrip().splitlines()[-lines:])


def why_it_ended(log: str, status: int) -> str:
    """The error that an engine printed; of one that ended otherwise its exit status and last line."""
    _, reported, error = f"\n{log}".rpartition("\nerror: ")
    if reported:
        return error.strip()[:LONGEST_REASON]
    lines = log.strip().splitlines()[-1:]
    return f"The engine ended with exit status {status}. {' '.join(lines)[:LONGEST_REASON]}"
