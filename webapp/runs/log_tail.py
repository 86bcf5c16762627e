"""Reads the end of an engine's log by byte offset."""

from __future__ import annotations

from pathlib import Path

MOST = 64 * 1024


def tail(path: Path, after: int | None) -> tuple[str, int]:
    """`(text, next offset)`: at most 64 KiB after `after`, or the last 64 KiB. Broken characters are replaced.

    An offset beyond the file, as after a truncation, starts again at its end.
    """
    try:
        size = path.stat().st_size
        start = max(0, size - MOST) if after is None or after > size else after
        with path.open("rb") as file:
            file.seek(start)
            data = file.read(MOST)
    except FileNotFoundError:
        return "", 0
    return data.decode(errors="replace"), start + len(data)
