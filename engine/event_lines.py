"""Events as the lines of `events.jsonl`, each with a checksum, so that a damaged line is never taken for an event.

The checksum is the CRC-32 of the line's JSON object without it, and its last field. Lines that other programs wrote may
have none.
"""

from __future__ import annotations

import zlib
from pathlib import Path

from pydantic import ValidationError

from engine.events import EVENT, Event
from engine.line_files import lines_from_the_end

FIELD = b',"crc":"'
END = b'"}'
DIGITS = 8
LENGTH = len(FIELD) + DIGITS + len(END)


class DamagedLine(ValueError):
    """A line whose checksum differs from that of its text."""


def line_of(event: Event) -> bytes:
    """The line of an event, with its checksum and the line break."""
    text = event.model_dump_json().encode()
    return b"%s%s%08x%s\n" % (text[:-1], FIELD, zlib.crc32(text), END)


def parse_event(line: bytes | str) -> Event:
    """One line of `events.jsonl` as an event. `DamagedLine` if it has changed since it was written; pydantic's
    `ValidationError` if it is no event. Both are `ValueError`s."""
    return EVENT.validate_json(verified(line.encode() if isinstance(line, str) else line))


def verified(line: bytes) -> bytes:
    """The JSON of a line, without its checksum; `DamagedLine` if that does not match."""
    line = line.rstrip(b"\n")
    tail = line[-LENGTH:]
    if not (tail.startswith(FIELD) and tail.endswith(END)):
        return line
    text = line[:-LENGTH] + b"}"
    if b"%08x" % zlib.crc32(text) != tail[len(FIELD) : -len(END)]:
        raise DamagedLine("The line has changed since it was written: its checksum does not match.")
    return text


def has_unknown_kind(error: ValueError) -> bool:
    """Whether `parse_event` refused a whole line because a newer version wrote it."""
    return isinstance(error, ValidationError) and error.errors(include_url=False)[0]["type"] == "union_tag_invalid"


def why_refused(error: ValueError) -> str:
    """Why `parse_event` refused a line, in one sentence without its end."""
    if not isinstance(error, ValidationError):
        return str(error).rstrip(".")
    first = error.errors(include_url=False)[0]
    if first["type"] == "union_tag_invalid":
        return f"The event's kind {first['ctx']['tag']!r} is not known to this version"
    if first["type"] == "json_invalid":
        return "The line is not complete JSON"
    field = ".".join(str(part) for part in first["loc"][1:])
    return f"{field}: {first['msg']}" if field else str(first["msg"])


def newest_seq(path: Path) -> int:
    """Of the last event of the file that is whole; 0 if there is none."""
    if not path.exists():
        return 0
    return next((seq for line in lines_from_the_end(path) if (seq := _seq_of(line)) is not None), 0)


def _seq_of(line: bytes) -> int | None:
    """None for a damaged line, which readers skip."""
    try:
        return parse_event(line).seq
    except ValueError:
        return None
