"""Keeps `engine.log` from filling the disk: what is too long becomes `engine.log.1`, and a new log begins."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

MOST_BYTES = 64 << 20


def cap(log: Path, *, most: int = MOST_BYTES) -> bool:
    """True if a new log begins. The engine, which appends, need not know; a line that it writes at that moment may be
    lost."""
    try:
        if log.stat().st_size <= most:
            return False
        shutil.copyfile(log, log.with_name(f"{log.name}.1"))
        os.truncate(log, 0)
    except OSError:
        return False  # it is absent, or the disk is full: the next round tries again
    return True
