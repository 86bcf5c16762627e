"""The number of CPU threads, and how OpenMP's threads wait for each other. Loads no torch."""

from __future__ import annotations

import os

SPINS = 1000  # about a microsecond or two


def limit_thread_spinning() -> None:
    """Lets OpenMP's threads sleep after a short spin, unless the user's environment sets a policy.
    To be called before torch is imported, which reads the setting once.

    By default they spin for milliseconds. That has no measurable benefit here, and when another process needs a core,
    each operation waits for a thread that is not running: two engines on two cores took fifty times longer per step
    instead of 1.7 times.
    """
    if "OMP_WAIT_POLICY" not in os.environ:
        os.environ.setdefault("GOMP_SPINCOUNT", str(SPINS))


def threads_for(configured: int) -> int:
    """`configured`, else `OMP_NUM_THREADS` if it is a number, else all cores."""
    given = os.environ.get("OMP_NUM_THREADS", "")
    return configured or (int(given) if given.isdecimal() else 0) or os.cpu_count() or 1
