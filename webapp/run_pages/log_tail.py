"""Reads the end of an engine's log by byte offset."""

from __future__ import annotations

import os
from pathlib import Path

MOST = 64 * 1024


def tail(path: Path, after: int | None) -> tuple[str, int]:
    """`(text, next offset)`: at most 64 KiB after `after`, or the last 64 KiB. Broken characters are replaced.

    An offset beyond the end of the file, as after a truncation, is treated as None. Links are not followed, since code
    in an environment can create one in the run's directory.
    """
    try:
        with open(path, "rb", opener=_without_links) as file:
            size = os.fstat(file.fileno()).st_size
            start = max(0, size - MOST) if after is None or after > size else after
            file.seek(start)
            data = file.read(MOST)
    except OSError:
        return "", 0
    return data.decode(errors="replace"), start + len(data)


def _without_links(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NOFOLLOW)
