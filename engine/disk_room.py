"""A disk that is full is no reason to lose a run: what cannot be written waits until there is room."""

from __future__ import annotations

import errno
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

NO_ROOM = frozenset({errno.ENOSPC, errno.EDQUOT})
LEAST_FREE = 1 << 20  # bytes; writers of tensors raise errors of their own, so that only the disk shows the cause
LONGEST_PAUSE = 30.0
GLANCE = 0.25  # seconds between looks at requests to stop

T = TypeVar("T")


def is_no_room(error: BaseException) -> bool:
    return isinstance(error, OSError) and error.errno in NO_ROOM


class DiskRoom:
    """Repeats what a full disk refused, in growing pauses.

    `check_cancelled` raises when the run is asked to stop; from then on nothing waits, and what cannot be written
    raises. Without it nothing ever waits.
    """

    def __init__(
        self, directory: Path, *, check_cancelled: Callable[[], None] | None = None, pause: float = 1.0
    ) -> None:
        self.gave_up = False  # it was asked to stop while it waited
        self._directory, self._check_cancelled, self._pause = directory, check_cancelled, pause

    def write(self, action: Callable[[], T]) -> T:
        """`action` is called again and again, so it starts afresh each time."""
        pause = self._pause
        while True:
            try:
                return action()
            except Exception as error:
                if self._check_cancelled is None or self.gave_up or not self._is_full(error):
                    raise
                self._wait(pause, self._check_cancelled)
                pause = min(2 * pause, LONGEST_PAUSE)

    def _is_full(self, error: Exception) -> bool:
        if isinstance(error, OSError):
            return is_no_room(error)
        return shutil.disk_usage(self._directory).free < LEAST_FREE

    def _wait(self, seconds: float, check_cancelled: Callable[[], None]) -> None:
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            try:
                check_cancelled()
            except Exception:
                self.gave_up = True
                raise
            time.sleep(min(GLANCE, seconds))
