"""What a run's page starts from: events, the phase times of the newest steps, and the names of metrics.

Its size does not grow with the number of steps: curves are requested as they come into view (`webapp.live.bands`).
"""

from __future__ import annotations

from typing import Any, TypedDict

from django.db.models import TextField
from django.db.models.functions import Cast
from pydantic_core import from_json

from engine.events import (
    AlertRaised,
    CheckpointEvaluated,
    CheckpointSaved,
    EvaluationCompleted,
    PhaseChanged,
    RunFailed,
    RunFinished,
    RunStarted,
    SettingsChanged,
    StepCompleted,
    TrajectoriesRecorded,
    kind_of,
)
from webapp.live.reading import STEP_FIELDS, EventDict
from webapp.runs.models import Run

RECENT_STEPS = 60
SHOWN = [
    kind_of(event)
    for event in (
        RunStarted, EvaluationCompleted, CheckpointEvaluated, AlertRaised, CheckpointSaved, SettingsChanged,
        RunFinished, RunFailed,
    )
]  # fmt: skip
NEWEST_ONLY = [kind_of(PhaseChanged), kind_of(TrajectoriesRecorded)]


class Outline(TypedDict):
    """`events` in the order of `seq`, up to `last_seq`; steps only the newest, with nothing but their `time/*`."""

    events: list[EventDict]
    keys: list[str]
    last_seq: int


def outline(run: Run) -> Outline:
    """Rows are written together with the run's `last_seq`: up to that they are complete."""
    upto = run.last_seq
    events = list(run.events.filter(seq__lte=upto, kind__in=SHOWN).order_by("seq").values_list("payload", flat=True))
    for kind in NEWEST_ONLY:
        events += run.events.filter(seq__lte=upto, kind=kind).order_by("-seq").values_list("payload", flat=True)[:1]
    events = sorted([*events, *_recent_steps(run, upto)], key=lambda event: int(event["seq"]))
    return {"events": events, "keys": metric_names(run), "last_seq": upto}


def metric_names(run: Run) -> list[str]:
    """Every metric that a step of the run has had."""
    return sorted({*run.metric_names.values_list("name", flat=True), *run.metrics})


def _recent_steps(run: Run, upto: int) -> list[EventDict]:
    fields = [name for name in STEP_FIELDS if name != "metrics"]
    newest: Any = run.steps.filter(seq__lte=upto).order_by("-step")
    rows = newest.annotate(text=Cast("metrics", TextField())).values(*fields, "text")[:RECENT_STEPS]
    return [{"kind": kind_of(StepCompleted), "metrics": _times(row.pop("text")), **row} for row in rows]


def _times(text: str) -> dict[str, float]:
    return {name: value for name, value in from_json(text).items() if name.startswith("time/")}
