"""The states of a run and the allowed transitions between them, all in the table `MOVES`."""

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
    REPORTING = "reporting", "Running elsewhere"


# shown instead of a state in the database: of a queued run that restarts by itself after a failure, of a stopped run
# that its sweep ended, of a finished run that an alert rule ended, and of one whose verdict has one of these labels
RESTARTING = "restarting"
PRUNED = "pruned"
ENDED_BY_ALERT = "ended_by_alert"
FINISHED_AS = {
    "collapsed": "Finished · collapsed",
    "degraded": "Finished · degraded",
    "broken_format": "Finished · broken format",
    "no_signal": "Finished · no signal",
}


NEEDS_ATTENTION = "needs_attention"  # a run that failed since no good checkpoint is left


class EndCause(TextChoices):
    """Why a run ended; empty while it has not."""

    COMPLETED = "completed", "All steps are done"
    RULE = "rule", "Ended by an alert rule"
    STOPPED = "stopped", "Stopped on request"
    ERROR = "error", "The engine reported an error"
    REFUSED = "refused", "The engine refused to start"
    NO_GOOD_CHECKPOINT = "no_good_checkpoint", "No good checkpoint is left"
    CRASHED = "crashed", "The engine ended without a report"


class StopRequester(TextChoices):
    """Who ended a run before its last step; empty if nobody did."""

    USER = "user", "A user"
    SWEEP = "sweep", "Its sweep"
    RULE = "rule", "An alert rule"


class Request(TextChoices):
    """What the user requested of a live run; the engine reads it from `control.json`."""

    RUN = "run", "Run"
    PAUSE = "pause", "Pause"
    STOP = "stop", "Stop"


SHOWN_LABELS = {
    **dict(RunState.choices),
    RESTARTING: "Restarting",
    PRUNED: "Pruned",
    ENDED_BY_ALERT: "Ended by alert",
    NEEDS_ATTENTION: "Needs attention",
    **FINISHED_AS,
}
del SHOWN_LABELS[RunState.REPORTING]  # shown as running

USUAL_CAUSES = {
    RunState.FINISHED: EndCause.COMPLETED,
    RunState.STOPPED: EndCause.STOPPED,
    RunState.FAILED: EndCause.ERROR,
    RunState.CRASHED: EndCause.CRASHED,
}
TERMINAL = frozenset({RunState.FINISHED, RunState.STOPPED, RunState.FAILED, RunState.CRASHED})
SUPERVISED = frozenset(
    {RunState.STARTING, RunState.RUNNING, RunState.PAUSED, RunState.STALLED, RunState.LOST, RunState.STOPPING}
)

FOLLOWED = SUPERVISED - {RunState.STARTING}  # whose engine goes on while no worker supervises it

_ENDS = frozenset({RunState.FINISHED, RunState.STOPPED, RunState.FAILED, RunState.CRASHED})
_LIVE = frozenset({RunState.RUNNING, RunState.PAUSED, RunState.STALLED, RunState.LOST, RunState.STOPPING})

# a run interrupted by its machine (shutdown, restart) is queued again as a new attempt
_AGAIN = frozenset({RunState.QUEUED})

MOVES: dict[RunState, frozenset[RunState]] = {
    RunState.REPORTING: frozenset({RunState.FINISHED, RunState.FAILED}),  # nothing here supervises it
    RunState.QUEUED: frozenset({RunState.STARTING, RunState.STOPPED, RunState.FAILED}),
    RunState.STARTING: _LIVE | _ENDS | _AGAIN,
    RunState.RUNNING: (_LIVE | _ENDS | _AGAIN) - {RunState.RUNNING},
    RunState.PAUSED: (_LIVE | _ENDS | _AGAIN) - {RunState.PAUSED},
    RunState.STALLED: (_LIVE | _ENDS | _AGAIN) - {RunState.STALLED},
    RunState.LOST: (_LIVE | _ENDS | _AGAIN) - {RunState.LOST},
    RunState.STOPPING: _ENDS,
    # a user may resume a run that ended early, as a new attempt
    RunState.STOPPED: frozenset({RunState.QUEUED}),
    RunState.FAILED: frozenset({RunState.QUEUED}),
    RunState.CRASHED: frozenset({RunState.QUEUED}),
    RunState.FINISHED: frozenset(),
}


def finished_as(label: str, ended_by: str) -> str:
    """How a finished run is shown, by the label of its verdict and the alert rule that ended it, if one did."""
    if ended_by:
        return ENDED_BY_ALERT
    return label if label in FINISHED_AS else RunState.FINISHED


def sources_of(target: RunState) -> list[RunState]:
    """The states from which a run may move to `target`."""
    return [source for source, targets in MOVES.items() if target in targets]
