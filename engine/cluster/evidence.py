"""What is known when a phase hangs: where each process is, what Ray shows, and the log's last words."""

from __future__ import annotations

from pathlib import Path

from engine.cluster.connection import import_ray

LOG_LINES = 5


def evidence(stacks: Path, log: Path) -> str:
    """One text for an alert; the whole stacks stay in `stacks`."""
    parts = [*(f"{file.stem}: {innermost(file)}." for file in sorted(stacks.glob("*.txt"))), cluster_in_words()]
    if log.is_file():
        lines = log.read_text(errors="replace").splitlines()[-LOG_LINES:]
        parts.append("The log ends with: " + " / ".join(line.strip() for line in lines if line.strip()))
    return " ".join(parts)


def innermost(file: Path) -> str:
    """The newest frame of the newest stack in `file`, as `function in file:line`."""
    dumps = file.read_text(errors="replace").split("Current thread")
    frames = [line.strip() for line in dumps[-1].splitlines() if line.strip().startswith("File ")]
    return frames[0].replace('"', "") if len(dumps) > 1 and frames else "no stack"


def cluster_in_words() -> str:
    """Nodes and free resources by Ray's own account."""
    ray = import_ray()
    nodes = ray.nodes()
    alive = sum(bool(node["Alive"]) for node in nodes)
    total, free = ray.cluster_resources(), ray.available_resources()
    kinds = [f"{free.get(name, 0):g} of {total[name]:g} {name}s" for name in ("GPU", "CPU") if name in total]
    return f"Ray shows {alive} of {len(nodes)} nodes alive, free: {', '.join(kinds) or 'nothing'}."
