"""Where events go besides the file. A sink is a function of one event."""

from __future__ import annotations

import contextlib
import sys

from engine.events import (
    AlertRaised,
    CheckpointEvaluated,
    CheckpointSaved,
    ClusterReleased,
    EvaluationCompleted,
    Event,
    RunFailed,
    RunFinished,
    RunStarted,
    StepCompleted,
    VerdictUpdated,
)
from engine.log_format import stamped

LEVELS = {"watch": "WARNING", "warn": "WARNING", "critical": "ERROR", "dead": "ERROR"}
SHOWN = ("rollout/success", "reward/mean", "reward/within_group_std", "policy/entropy", "optim/grad_norm", "time/step")


def print_event(event: Event) -> None:
    """Prints one line of progress on standard output; in a file with its time and level."""
    if line := describe(event):
        shown = line if sys.stdout.isatty() else stamped(level_of(event), line, at=event.time)
        with contextlib.suppress(OSError):  # the log of a run may be on a full disk; the event is recorded already
            sys.stdout.write(shown + "\n")
            sys.stdout.flush()


def level_of(event: Event) -> str:
    match event:
        case AlertRaised():
            return LEVELS[event.severity]
        case RunFailed():
            return "ERROR"
        case _:
            return "INFO"


def describe(event: Event) -> str:
    match event:
        case RunStarted():
            since = f", resumed from step {event.resumed_from}" if event.resumed_from is not None else ""
            some = event.trainable_parameters not in (None, event.parameters)
            trained = f" ({event.trainable_parameters:,} trainable)" if some else ""
            return f"started: {event.model}, {event.parameters:,} parameters{trained} on {event.device}{since}"
        case StepCompleted():
            shown = "  ".join(f"{name} {event.metrics[name]:.3f}" for name in SHOWN if name in event.metrics)
            return f"step {event.step}: {shown}{'  skipped' if event.skipped else ''}"
        case EvaluationCompleted() | CheckpointEvaluated():
            faults = f", {event.faults} more failed" if event.faults else ""
            what = "evaluation at" if isinstance(event, EvaluationCompleted) else "requested evaluation of"
            return (
                f"{what} step {event.step}: {event.environment} success {event.success:.3f} "
                f"[{event.low:.3f}, {event.high:.3f}] over {event.episodes}{faults}"
            )
        case AlertRaised():
            return f"{event.severity} at step {event.step}: {event.message}"
        case VerdictUpdated() if event.verdict.since == event.step:
            return f"verdict at step {event.step}: {event.verdict.title}. {event.verdict.reason}"
        case CheckpointSaved():
            return f"checkpoint at step {event.step}: {event.path}"
        case ClusterReleased():
            return event.message
        case RunFinished():
            return f"{event.outcome}: {event.reason}"
        case RunFailed():
            return f"failed: {event.error}: {event.message} {event.remedy}"
        case _:
            return ""
