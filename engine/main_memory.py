"""Free main memory, in bytes, of the machine or of the container that this process is in. No torch."""

from __future__ import annotations

from pathlib import Path

MANY_PARAMETERS = 50_000_000  # of a model: from here on memory is scarcer than the time that it saves
CONTAINER = Path("/sys/fs/cgroup")  # of control groups, version 2


def free_memory(container: Path = CONTAINER) -> int:
    """What can be allocated: memory that only caches files counts as free."""
    import psutil  # which a bare machine with a GPU may not have: benchmarks.gpu needs the constant alone

    free: int = psutil.virtual_memory().available
    return min([free, *_left_to(container)])


def _left_to(container: Path) -> list[int]:
    """What is left of the container's limit; empty without one."""
    try:
        limit = (container / "memory.max").read_text().strip()
        if limit == "max":
            return []
        used = int((container / "memory.current").read_text())
        lines = (container / "memory.stat").read_text().splitlines()
        cached = next((int(line.split()[1]) for line in lines if line.startswith("inactive_file ")), 0)
        return [max(0, int(limit) - used + cached)]
    except (OSError, ValueError, IndexError):
        return []  # it is not in a container, or one of another kind
