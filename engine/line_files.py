"""Files of lines, from their end, in memory that does not depend on their length."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

BLOCK = 1 << 20


def remove_partial_line(path: Path) -> int:
    """Removes a last line without an end; returns the bytes removed. `OSError` if there is no such file."""
    with path.open("r+b") as file:
        size = file.seek(0, 2)
        whole = _end_of_last_line(file, size)
        if whole < size:
            file.truncate(whole)
    return size - whole


def lines_from_the_end(path: Path) -> Iterator[bytes]:
    """Complete lines without their line breaks, the newest first; empty ones are left out."""
    with path.open("rb") as file:
        position = _end_of_last_line(file, file.seek(0, 2))
        rest: list[bytes] = []  # the end of a line that begins in an earlier block, the last part first
        while position:
            start = max(0, position - BLOCK)
            file.seek(start)
            *parts, last = file.read(position - start).split(b"\n")
            position = start
            rest.append(last)
            if not parts:
                continue
            yield from filter(None, [_joined(rest)])
            rest = [parts[0]]
            yield from filter(None, reversed(parts[1:]))
        yield from filter(None, [_joined(rest)])


def _joined(parts: list[bytes]) -> bytes:
    return b"".join(reversed(parts))


def _end_of_last_line(file: BinaryIO, size: int) -> int:
    """The number of bytes up to the last line break, with it."""
    position = size
    while position:
        start = max(0, position - BLOCK)
        file.seek(start)
        found = file.read(position - start).rfind(b"\n")
        if found >= 0:
            return start + found + 1
        position = start
    return 0
