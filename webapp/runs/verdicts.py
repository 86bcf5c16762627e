"""The verdict that a run's engine recorded, next to its life-cycle state; and the same from rows, by newer rules.

Nothing here compares a metric with a number: that is `engine.verdict`.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from operator import attrgetter

from django.db.models import Q, TextField
from django.db.models.fields.json import KeyTransform
from django.db.models.functions import Cast
from django.utils import timezone
from pydantic_core import from_json

from engine.events import Event, StepCompleted, parse_payload
from engine.verdict.assessor import Settings, assess
from engine.verdict.recorded import counted
from engine.verdict.regimes import ENTROPY, MI_RATIO, VALID_RATE, Per, Reading, RegimeMap, regime_map, regime_rule
from engine.verdict.thresholds import RULES_VERSION
from engine.verdict.types import Label, Verdict
from webapp.runs.models import Run
from webapp.runs.states import NEEDS_ATTENTION, PRUNED, RESTARTING, RunState

EVENTS_READ = ("run_started", "evaluation_completed", "alert_raised", "run_finished")
SILENT_AFTER = timedelta(minutes=10)
SILENCE = "Its trainer may have ended without saying so."
OUTDATED = Q(step__gt=0) & (Q(verdict__rules_version__isnull=True) | ~Q(verdict__rules_version=RULES_VERSION))
ICONS: dict[Label, str] = {
    "too_early": "running",
    "in_progress": "running",
    "learning": "learning",
    "flat": "running",
    "converged": "finished",
    "at_risk": "alert",
    "broken_format": "broken_format",
    "collapsing": "collapsing",
    "collapsed": "collapsed",
    "no_signal": "no_signal",
    "degraded": "degraded",
    "too_short": "stopped",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Status:
    """What heads a run's page. `key` is the style of the chip: a state, or the level of the verdict. Of a verdict only:
    `summary` has the numbers beside the reason, and `alert` is the number of the event of the alert that it stands
    on."""

    key: str
    label: str
    reason: str
    icon: str
    summary: str = ""
    alert: int | None = None

    @property
    def text(self) -> str:
        return f"{self.reason} {self.summary}".strip()


def recorded_verdict(run: Run) -> Verdict | None:
    """None before the first step."""
    return Verdict.model_validate(run.verdict) if run.verdict else None


def status_of(run: Run) -> Status:
    """The state where it needs attention or nothing is known yet, else the verdict."""
    state, verdict = run.shown_as, recorded_verdict(run)
    if state == RESTARTING:
        return _of_state(RESTARTING, "Restarting", run.state_reason)
    if state == PRUNED:
        return Status(key="stopped", label="Pruned", reason=run.state_reason, icon=PRUNED)
    if state in (RunState.QUEUED, RunState.STARTING):
        waits = run.wait_reason or "The engine is starting."
        return _of_state("queued", "Waiting", f"{run.state_reason} {waits}".strip())
    if state == NEEDS_ATTENTION:
        return Status(key="failed", label="Needs attention", reason=run.state_reason, icon=NEEDS_ATTENTION)
    if state in (RunState.FAILED, RunState.CRASHED):
        return _of_state("failed", state.capitalize(), run.state_reason or "See the log.")
    if run.state == RunState.REPORTING and (since := _silent_since(run)) is not None:
        return _of_state("stalled", "Silent", f"Nothing has arrived since {since:%Y-%m-%d %H:%M} UTC. {SILENCE}")
    if state in (RunState.STALLED, RunState.LOST):
        return _of_state("stalled", state.capitalize(), run.state_reason or "No heartbeat for a while.")
    if verdict is None and run.is_terminal:
        return _of_state("stopped", state.capitalize(), run.state_reason or "It ended before its first step.")
    if verdict is None:
        return _of_state("queued", "Waiting", run.wait_reason or "No steps yet.")
    return _of_verdict(verdict)


def _silent_since(run: Run) -> datetime | None:
    """Of a run that is trained elsewhere: nothing but its silence can show that its trainer has ended."""
    heard = run.last_heartbeat_at or run.created_at
    return heard if timezone.now() - heard > SILENT_AFTER else None


def health_of(run: Run) -> Status | None:
    """The verdict alone, for lists that have a column of states beside it. None before the first step, and of a run
    that failed before it could be judged."""
    verdict = recorded_verdict(run)
    if verdict is None or (run.is_terminal and verdict.label in ("too_early", "in_progress")):
        return None
    return _of_verdict(verdict)


def _of_verdict(verdict: Verdict) -> Status:
    return Status(
        key=verdict.level,
        label=verdict.title,
        reason=verdict.reason,
        summary=verdict.summary,
        icon=ICONS[verdict.label],
        alert=verdict.alert.seq if verdict.alert is not None else None,
    )


def _of_state(key: str, label: str, reason: str) -> Status:
    return Status(key=key, label=label, reason=reason, icon=key)


def reassess(run: Run) -> Verdict | None:
    """Replaces the verdict of a run by that of the rules which are installed, unless its rows change meanwhile."""
    settings = Settings.of(run.parsed_config(), total_steps=run.total_steps)
    verdict = assess(counted(_events(run), settings), settings)
    stored = verdict.model_dump(mode="json") if verdict is not None else {}
    Run.objects.filter(pk=run.pk, last_seq=run.last_seq).update(verdict=stored)
    return verdict


def _events(run: Run) -> Iterator[Event]:
    """What an assessor reads, in the order of `seq`. Rows of steps are only those that count."""
    payloads = run.events.filter(kind__in=EVENTS_READ).order_by("seq").values_list("payload", flat=True)
    return heapq.merge(map(parse_payload, payloads.iterator()), _steps(run), key=attrgetter("seq"))


def _steps(run: Run) -> Iterator[StepCompleted]:
    rows = run.steps.order_by("seq").annotate(text=Cast("metrics", TextField()))
    for seq, step, attempt, text in rows.values_list("seq", "step", "attempt", "text").iterator():
        yield StepCompleted(
            seq=seq, time=0.0, attempt=attempt, epoch=0, step=step, metrics=from_json(text), tokens=0, seconds=0.0
        )


def regimes_of(run: Run, per: Per) -> RegimeMap:
    """Every diagnosed step of the run with its regime."""
    names = (ENTROPY[per], MI_RATIO, VALID_RATE)
    rows = run.steps.filter(metrics__has_keys=[ENTROPY[per], MI_RATIO]).order_by("step")
    found = rows.values_list("step", *(KeyTransform(name, "metrics") for name in names))
    readings = [Reading(step, entropy, ratio, valid) for step, entropy, ratio, valid in found]
    return regime_map(readings, regime_rule(run.parsed_config().detectors), per)
