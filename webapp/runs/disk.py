"""What files occupy on disk."""

from __future__ import annotations

import os
from pathlib import Path

BLOCK = 512  # bytes, the unit of st_blocks


def disk_bytes(directory: Path) -> tuple[int, int]:
    """`(freed, shared)`: what is used by files without and with links from outside of `directory`."""
    links: dict[tuple[int, int], list[int]] = {}  # by inode: links inside, all links, bytes
    for folder, _, names in os.walk(directory):
        for name in names:
            try:
                found = Path(folder, name).lstat()
            except OSError:
                continue  # removed meanwhile
            known = links.setdefault((found.st_dev, found.st_ino), [0, found.st_nlink, found.st_blocks * BLOCK])
            known[0] += 1
    freed = sum(size for inside, total, size in links.values() if inside >= total)
    return freed, sum(size for inside, total, size in links.values() if inside < total)
