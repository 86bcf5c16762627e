"""Reads `events.jsonl` by byte offset. A last line without a newline is not yet an event."""

from __future__ import annotations

import logging
import zlib
from dataclasses import dataclass, replace
from pathlib import Path
from typing import BinaryIO

from engine.event_lines import has_unknown_kind, verified, why_refused
from engine.events import EVENT, Event, TrajectoriesRecorded
from engine.line_files import remove_partial_line

log = logging.getLogger(__name__)

CHUNK_BYTES = 4 << 20
LONGEST_LINE = 64 << 20
LONGEST_REASON = 500
LONGEST_TAIL = 256
ABSENT = (FileNotFoundError, NotADirectoryError)
# PostgreSQL refuses NUL in text and JSON; output of a model or an environment may contain it.
NUL_ESCAPE, REPLACEMENT_ESCAPE = rb"\u0000", rb"\ufffd"


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A line of the file up to byte `end`: an event, or the reason why it is none."""

    end: int
    text: bytes
    event: Event | None
    refused: str = ""
    newer: bool = False  # whole, and of a kind that this version does not know


@dataclass(frozen=True, slots=True, kw_only=True)
class Chunk:
    """Complete lines from byte `start` to byte `end`. `replaced`: the file does not begin with what was read before."""

    lines: list[Line]
    start: int
    end: int
    replaced: bool = False

    @property
    def tail(self) -> str:
        """By which to see later whether the file still has these lines; empty without any."""
        return tail_of(self.lines[-1].text[-LONGEST_TAIL:]) if self.lines else ""

    @property
    def events(self) -> list[Event]:
        return [line.event for line in self.lines if line.event is not None]

    def halves(self) -> list[Chunk]:
        """Of two lines or more."""
        middle = len(self.lines) // 2
        first, second = self.lines[:middle], self.lines[middle:]
        return [
            replace(self, lines=first, end=first[-1].end),
            replace(self, lines=second, start=first[-1].end, replaced=False),
        ]

    def refused(self, reason: str) -> Chunk:
        """With no event, for this reason."""
        return replace(self, lines=[replace(line, event=None, refused=reason) for line in self.lines])


def tail_of(text: bytes) -> str:
    """Number of bytes and CRC-32 of the end of a line, without its line break."""
    return f"{len(text)}:{zlib.crc32(text):08x}"


def read_chunk(path: Path, offset: int, limit: int = CHUNK_BYTES, *, tail: str = "") -> Chunk:
    """The next complete lines after `offset`: about `limit` bytes, and at least one line if one is complete.

    A file that is shorter than `offset`, or whose line before it does not end in `tail`, was cut or replaced: it is
    read again from the beginning, and events with a known `seq` have no effect.
    """
    try:
        file = path.open("rb")
    except ABSENT:
        return Chunk(lines=[], start=offset, end=offset)
    with file:
        replaced = not _has(file, offset, tail)
        if replaced:
            log.warning("%s does not begin with what was read; reading it again", path)
            offset = 0
        file.seek(offset)
        data = file.read(limit)
        if b"\n" not in data and len(data) == limit:
            data += file.readline(LONGEST_LINE)
    whole = data[: data.rfind(b"\n") + 1]
    if not whole and len(data) > LONGEST_LINE:
        return Chunk(lines=[_endless(data, offset)], start=offset, end=offset + len(data), replaced=replaced)
    return _parsed(whole, offset, replaced=replaced)


def _has(file: BinaryIO, offset: int, tail: str) -> bool:
    """Whether the file still has what was read of it."""
    if file.seek(0, 2) < offset:
        return False
    if not offset or not tail:
        return True
    length = int(tail.partition(":")[0])
    # a part of a line without an end has no line break after it
    return any(_read(file, offset - length - after, length) == tail for after in (1, 0) if offset >= length + after)


def _read(file: BinaryIO, start: int, length: int) -> str:
    file.seek(start)
    return tail_of(file.read(length))


def _parsed(whole: bytes, offset: int, *, replaced: bool) -> Chunk:
    """Up to the next trajectory file: reading one takes a while, and curves need not wait for it."""
    lines: list[Line] = []
    end, events = offset, 0
    for text in whole.split(b"\n")[:-1]:
        line = _line(text, end + len(text) + 1)
        if isinstance(line.event, TrajectoriesRecorded) and events:
            break
        lines.append(line)
        end, events = line.end, events + (line.event is not None)
    return Chunk(lines=lines, start=offset, end=end, replaced=replaced)


def _endless(data: bytes, offset: int) -> Line:
    """A part of a line that no event is as long as, so that damage without end takes no memory without end."""
    reason = f"{len(data):,} bytes without the end of a line, more than any event has"
    return Line(end=offset + len(data), text=data, event=None, refused=reason)


def _line(text: bytes, end: int) -> Line:
    try:
        event = EVENT.validate_json(verified(text).replace(NUL_ESCAPE, REPLACEMENT_ESCAPE))
    except ValueError as error:
        newer = has_unknown_kind(error)
        return Line(end=end, text=text, event=None, refused=why_refused(error), newer=newer)
    return Line(end=end, text=text, event=event)


def truncate_partial_line(path: Path) -> int:
    """Removes a partial last line, left by a killed engine, before another attempt appends; returns the bytes removed.

    Only for the holder of the lease, while no engine of the run is alive.
    """
    try:
        return remove_partial_line(path)
    except ABSENT:
        return 0


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
