"""What an earlier attempt at the run worked on."""

from __future__ import annotations

from pathlib import Path

from engine.events import RunStarted, parse_event


def worked_on_gpus(events: Path) -> bool:
    """Whether the newest attempt that had begun did. Of a cluster that starts anew the machines with GPUs may come
    last."""
    if not events.is_file():
        return False
    with events.open("rb") as lines:
        begun = [line for line in lines if b'"run_started"' in line and line.endswith(b"\n")]
    starts = [event for event in map(parse_event, begun) if isinstance(event, RunStarted)]
    return bool(starts) and starts[-1].device == "cuda"
