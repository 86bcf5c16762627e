"""Where an engine on this machine hangs: what its threads do, by py-spy or by Python's own dump."""

from __future__ import annotations

from pathlib import Path

from engine.process_snapshots import ActorLocation, take_snapshots
from engine.stack_text import innermost, store
from workers.process import Identity

NAME = "engine"  # of the file in the run's folder `stacks`, which has the full text


def where_it_hangs(directory: Path, engine: Identity) -> str:
    """A sentence; "" if the process does not say, as one that does not run or is not an engine of ours."""
    folder = directory / "stacks"
    try:
        folder.mkdir(exist_ok=True)
        (snapshot,) = take_snapshots([ActorLocation(node="", pid=engine.pid, name=NAME)], str(folder))
        store(snapshot, folder)
    except OSError:  # a full disk
        return ""
    state = f"Its process is {snapshot.state}. " if snapshot.state else ""
    if not snapshot.stack:
        return state.strip()
    return f"{state}It is in {innermost(snapshot.stack)}; `stacks/{NAME}.txt` in its run directory has all threads."
