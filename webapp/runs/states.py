"""The states of a run and the one table of moves between them. No other file decides what may follow what."""

from __future__ import annotations

from django.db.models import TextChoices


class RunState(TextChoices):
    QUEUED = "queued", "Queued"
    STARTING = "starting", "Starting"
    RUNNING = "running", "Running"
    PAUSED = "paused", "Paused"
    STALLED = "stalled", "Stalled"
    LOST = "lost", "Lost"
    STOPPING = "stopping", "Stopping"
    FINISHED = "finished", "Finished"
    STOPPED = "stopped", "Stopped"
    FAILED = "failed", "Failed"
    CRASHED = "crashed", "Crashed"


# how a queued run is shown that goes on by itself after a fault; it is no state of its own
RESTARTING = "restarting"


class Request(TextChoices):
    """What the user asks of a live run; the engine reads it from `control.json`."""

    RUN = "run", "Run"
    PAUSE = "pause", "Pause"
    STOP = "stop", "Stop"


TERMINAL = frozenset({RunState.FINISHED, RunState.STOPPED, RunState.FAILED, RunState.CRASHED})
SUPERVISED = frozenset(
    {RunState.STARTING, RunState.RUNNING, RunState.PAUSED, RunState.STALLED, RunState.LOST, RunState.STOPPING}
)

_ENDS = frozenset({RunState.FINISHED, RunState.STOPPED, RunState.FAILED, RunState.CRASHED})
_LIVE = frozenset({RunState.RUNNING, RunState.PAUSED, RunState.STALLED, RunState.LOST, RunState.STOPPING})

# what the machine interrupts (a shutdown, a restart) waits for its turn again, as a new attempt
_AGAIN = frozenset({RunState.QUEUED})

MOVES: dict[RunState, frozenset[RunState]] = {
    RunState.QUEUED: frozenset({RunState.STARTING, RunState.STOPPED, RunState.FAILED}),
    RunState.STARTING: _LIVE | _ENDS | _AGAIN,
    RunState.RUNNING: (_LIVE | _ENDS | _AGAIN) - {RunState.RUNNING},
    RunState.PAUSED: (_LIVE | _ENDS | _AGAIN) - {RunState.PAUSED},
    RunState.STALLED: (_LIVE | _ENDS | _AGAIN) - {RunState.STALLED},
    RunState.LOST: (_LIVE | _ENDS | _AGAIN) - {RunState.LOST},
    RunState.STOPPING: _ENDS,
    # a user may resume what ended early: it becomes a new attempt
    RunState.STOPPED: frozenset({RunState.QUEUED}),
    RunState.FAILED: frozenset({RunState.QUEUED}),
    RunState.CRASHED: frozenset({RunState.QUEUED}),
    RunState.FINISHED: frozenset(),
}


def sources_of(target: RunState) -> list[RunState]:
    """The states from which a run may move to `target`."""
    return [source for source, targets in MOVES.items() if target in targets]
