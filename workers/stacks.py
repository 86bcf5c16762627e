"""On SIGUSR2, the stacks of all threads go to the log of a site or worker, whatever Python is doing. The launcher asks
for them before it ends a process that hangs, and so can an operator: `kill -USR2 PID`.
"""

from __future__ import annotations

import faulthandler
import signal
import sys

STACKS = signal.SIGUSR2  # Celery uses SIGUSR1


def write_stacks_on_signal() -> None:
    if sys.stderr is not None:  # closed by whoever started us
        faulthandler.register(STACKS, all_threads=True)
