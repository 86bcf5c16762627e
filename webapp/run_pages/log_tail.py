"""Reads an engine's log by byte offset: its end, what follows, and what precedes."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

MOST = 64 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """The text between two offsets of the file. Broken characters are replaced."""

    text: str = ""
    start: int = 0
    end: int = 0


def tail(path: Path, *, after: int | None = None, before: int | None = None) -> Piece:
    """At most 64 KiB: after the offset `after`, before the offset `before`, or the last.

    Where it is not all that there is, a piece begins and ends between two lines, unless a line is longer than it. An
    offset beyond the end of the file, as after a truncation, is treated as None.
    """
    file = open_log(path)
    if file is None:
        return Piece()
    with file:
        size = os.fstat(file.fileno()).st_size
        if after is not None and after <= size:
            return _following(file, after)
        return _preceding(file, size if before is None or before > size else before)


def open_log(path: Path) -> BinaryIO | None:
    """None if there is none. Links are not followed, since code in an environment can create one in the run's
    directory."""
    try:
        return open(path, "rb", opener=_without_links)
    except OSError:
        return None


def chunks(file: BinaryIO) -> Iterator[bytes]:
    """The whole file, which is then closed."""
    with file:
        while data := file.read(MOST):
            yield data


def _following(file: BinaryIO, start: int) -> Piece:
    file.seek(start)
    data = file.read(MOST)
    if len(data) == MOST and (lines := data.rfind(b"\n") + 1):
        data = data[:lines]
    return Piece(text=data.decode(errors="replace"), start=start, end=start + len(data))


def _preceding(file: BinaryIO, end: int) -> Piece:
    start = max(0, end - MOST)
    file.seek(max(0, start - 1))
    data = file.read(end - max(0, start - 1))
    if start:
        newline = data.find(b"\n")  # perhaps the byte before `start`, where a line begins
        cut = newline + 1 if 0 <= newline < len(data) - 1 else 1
        data, start = data[cut:], start - 1 + cut
    return Piece(text=data.decode(errors="replace"), start=start, end=end)


def _without_links(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NOFOLLOW)
