"""How OpenMP's threads wait for each other. To be called before torch is imported, which reads the setting once."""

from __future__ import annotations

import os

SPINS = 1000  # about a microsecond or two


def limit_thread_spinning() -> None:
    """Lets OpenMP's threads sleep after a short spin, unless the user's environment sets a policy.

    By default they spin for milliseconds. That has no measurable benefit here, and when another process needs a core,
    each operation waits for a thread that is not running: two engines on two cores took fifty times longer per step
    instead of 1.7 times.
    """
    if "OMP_WAIT_POLICY" not in os.environ:
        os.environ.setdefault("GOMP_SPINCOUNT", str(SPINS))
