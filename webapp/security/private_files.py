"""Files of an installation are readable by its own user alone, whatever the modes of folders that were there before."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from django.core.exceptions import ImproperlyConfigured

OTHERS = stat.S_IRWXG | stat.S_IRWXO
OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH
NAMED = 3  # files in an error


def keep_private(directory: Path) -> None:
    """Creates the data directory if it is missing, and takes the access of other users away from it and from all files
    that this process and its children create. `ImproperlyConfigured` if it is somebody else's, or if others could write
    to it and have: a secret key that they know would let them sign in as anyone."""
    os.umask(OTHERS)
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    found = directory.stat()
    if not found.st_mode & OTHERS:
        return
    if found.st_uid != os.geteuid():
        raise ImproperlyConfigured(
            f"The data directory {directory} belongs to another user, and others may read it. Give one of your own: "
            "STARBOARD_DATA_DIR=…"
        )
    directory.chmod(stat.S_IMODE(found.st_mode) & ~OTHERS_WRITE)  # so that nothing is added after the check
    if foreign := _foreign(directory):
        raise ImproperlyConfigured(
            f"The data directory {directory} was open to others, and has files of other users: "
            f"{', '.join(foreign[:NAMED])}. Remove what you do not trust and make the rest yours, or give another "
            "directory: STARBOARD_DATA_DIR=…"
        )
    directory.chmod(stat.S_IMODE(found.st_mode) & ~OTHERS)


def _foreign(directory: Path) -> list[str]:
    """What is neither this user's nor root's."""
    ours = {os.geteuid(), 0}
    return sorted(path.name for path in directory.iterdir() if path.lstat().st_uid not in ours)
