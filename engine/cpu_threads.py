"""How the threads of a matrix product wait for each other. Called before torch loads, which reads it once."""

from __future__ import annotations

import os

SPINS = 1000  # about a microsecond or two


def limit_thread_spinning() -> None:
    """Lets OpenMP's threads sleep after a short spin, unless the user's environment says otherwise.

    By default they spin for milliseconds. That gains nothing measurable here, and when something else wants a core
    each operation waits for a thread that is not running: two engines on two cores took fifty times longer a step
    instead of 1.7 times.
    """
    if "OMP_WAIT_POLICY" not in os.environ:
        os.environ.setdefault("GOMP_SPINCOUNT", str(SPINS))
