"""Whether the kernel's memory killer ended an engine: what its log says, or how many processes it has ended meanwhile.

The log (`/dev/kmsg`) names the process, and is often readable to administrators only, who see it with `dmesg`. The
count (`oom_kill` of `/proc/vmstat`, of the whole machine) is readable to all.
"""

from __future__ import annotations

import os
import re
import signal
from pathlib import Path

from workers.process import Identity

KERNEL_LOG = Path("/dev/kmsg")
COUNTS = Path("/proc/vmstat")
LONGEST_RECORD = 8192
OUT_OF_MEMORY = "memory ran out"
MICROSECONDS_PER_TICK = 1_000_000 // os.sysconf("SC_CLK_TCK")


class MemoryKiller:
    """From now on: what it does before, it has not done to an engine that runs now."""

    def __init__(self) -> None:
        self._before = kills()

    def report_on(self, engine: Identity, exit_status: int | None) -> str:
        """About an engine that SIGKILL ended, or may have ended (None); "" if there is nothing to say."""
        if exit_status not in (-signal.SIGKILL, None):
            return ""
        if line := line_about(engine):
            return f"The kernel ended it because {OUT_OF_MEMORY}: {line}"
        if exit_status is None:
            return ""
        ended = self._ended()
        if ended is None:
            return f"Starboard did not send it; most often the kernel does when {OUT_OF_MEMORY}."
        if ended:
            return (
                f"Starboard did not send it. The kernel ended {ended} of this machine's processes because "
                f"{OUT_OF_MEMORY} while the run was supervised, most likely this one among them; `dmesg` names them."
            )
        return "Neither Starboard nor the kernel's memory killer sent it: another program or user did."

    def _ended(self) -> int | None:
        now = kills()
        return None if now is None or self._before is None else now - self._before


def kills() -> int | None:
    """Processes ended for want of memory since the machine started; None where the kernel does not count them."""
    try:
        found = re.search(r"^oom_kill (\d+)$", COUNTS.read_text(), re.MULTILINE)
    except OSError:
        return None
    return int(found[1]) if found else None


def line_about(engine: Identity) -> str:
    """The line of the kernel's log that says that it ended this process; "" if there is none, or it may not be read."""
    wanted = re.compile(rf"^[^;]*?,\d+,(\d+),[^;]*;(.*Killed process {engine.pid} .*)$", re.MULTILINE)
    for record in _records():
        found = wanted.match(record)
        if found and int(found[1]) >= engine.start_time * MICROSECONDS_PER_TICK:
            return found[2].strip()
    return ""


def _records() -> list[str]:
    """`level,number,microseconds since boot,flags;text`, oldest first."""
    found: list[str] = []
    try:
        log = os.open(KERNEL_LOG, os.O_RDONLY | os.O_NONBLOCK)
    except OSError:
        return found
    try:
        while True:
            try:
                found.append(os.read(log, LONGEST_RECORD).decode(errors="replace"))
            except BrokenPipeError:  # older records were overwritten meanwhile
                continue
            except OSError:  # the end
                return found
    finally:
        os.close(log)
