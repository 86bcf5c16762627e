"""Reads `events.jsonl` by byte offset. A last line without a newline is not yet an event."""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace
from pathlib import Path
from typing import BinaryIO

from engine.event_lines import verified, why_refused
from engine.events import EVENT, Event, TrajectoriesRecorded
from engine.line_files import remove_partial_line

log = logging.getLogger(__name__)

CHUNK_BYTES = 4 << 20
LONGEST_LINE = 64 << 20
LONGEST_REASON = 500
ABSENT = (FileNotFoundError, NotADirectoryError)
# PostgreSQL refuses NUL in text and JSON; output of a model or an environment may contain it.
NUL_ESCAPE, REPLACEMENT_ESCAPE = rb"\u0000", rb"\ufffd"
MARK_BYTES = 32  # the last ones of a line, with its checksum


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A line of the file up to byte `end`: an event, or the reason why it is none."""

    end: int
    text: bytes
    event: Event | None
    refused: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Chunk:
    """Complete lines from byte `start` to byte `end`. `shorter`: the file has fewer bytes than were read before;
    `replaced`: it has others. `mark`: its last bytes, by which the next reading knows the file again."""

    lines: list[Line]
    start: int
    end: int
    shorter: bool = False
    replaced: bool = False
    mark: bytes = b""

    @property
    def events(self) -> list[Event]:
        return [line.event for line in self.lines if line.event is not None]

    def halves(self) -> list[Chunk]:
        """Of two lines or more."""
        middle = len(self.lines) // 2
        first, second = self.lines[:middle], self.lines[middle:]
        return [
            replace(self, lines=first, end=first[-1].end, mark=_mark(first[-1].text + b"\n")),
            replace(self, lines=second, start=first[-1].end, shorter=False, replaced=False),
        ]

    def refused(self, reason: str) -> Chunk:
        """With no event, for this reason."""
        return replace(self, lines=[replace(line, event=None, refused=reason) for line in self.lines])


def read_chunk(path: Path, offset: int, limit: int = CHUNK_BYTES, *, mark: bytes = b"") -> Chunk:
    """The next complete lines after `offset`: about `limit` bytes, and at least one line if one is complete.

    A file that is shorter than `offset`, or does not have `mark` before it, was cut or replaced: it is read again from
    the beginning, and events with a known `seq` have no effect.
    """
    try:
        file = path.open("rb")
    except ABSENT:
        return Chunk(lines=[], start=offset, end=offset, mark=mark)
    with file:
        shorter = file.seek(0, 2) < offset
        replaced = not shorter and not _has(file, mark, offset)
        if shorter or replaced:
            log.warning("%s was cut or replaced after it was read; reading it again", path)
            offset, mark = 0, b""
        file.seek(offset)
        data = file.read(limit)
        if b"\n" not in data and len(data) == limit:
            data += file.readline(LONGEST_LINE)
    whole = data[: data.rfind(b"\n") + 1]
    if not whole and len(data) > LONGEST_LINE:
        lines, end, mark = [_endless(data, offset)], offset + len(data), _mark(data)
    else:
        lines, end = _parsed(whole, offset)
        mark = _mark(whole[: end - offset]) or mark
    return Chunk(lines=lines, start=offset, end=end, shorter=shorter, replaced=replaced, mark=mark)


def _has(file: BinaryIO, mark: bytes, offset: int) -> bool:
    """Whether `mark` is before `offset`; at the beginning of the file there is none."""
    if offset < len(mark):
        return True
    file.seek(offset - len(mark))
    return file.read(len(mark)) == mark


def _mark(text: bytes) -> bytes:
    return text[-MARK_BYTES:]


def _parsed(whole: bytes, offset: int) -> tuple[list[Line], int]:
    """Lines, and where they end: before the next trajectory file, since reading one takes a while, and curves need not
    wait for it."""
    lines: list[Line] = []
    end, events = offset, 0
    for text in whole.split(b"\n")[:-1]:
        line = _line(text, end + len(text) + 1)
        if isinstance(line.event, TrajectoriesRecorded) and events:
            break
        lines.append(line)
        end, events = line.end, events + (line.event is not None)
    return lines, end


def _endless(data: bytes, offset: int) -> Line:
    """A part of a line that no event is as long as, so that damage without end takes no memory without end."""
    reason = f"{len(data):,} bytes without the end of a line, more than any event has"
    return Line(end=offset + len(data), text=data, event=None, refused=reason)


def _line(text: bytes, end: int) -> Line:
    try:
        event = EVENT.validate_json(verified(text).replace(NUL_ESCAPE, REPLACEMENT_ESCAPE))
    except ValueError as error:
        return Line(end=end, text=text, event=None, refused=why_refused(error))
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
