"""What the page of the queue shows: runs with a slot, queued runs, jobs beside them, and what sweeps have yet to
queue."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.apps import apps
from django.db.models import Count, Q

from engine.events import RunStarted
from webapp.durations import duration
from webapp.jobs import LIVE, Job
from webapp.projects.access import readable
from webapp.queue_pages.durations import Durations
from webapp.queue_pages.evaluations import EvaluationRow, evaluation_rows
from webapp.queue_pages.schedule import schedule
from webapp.runs import queue
from webapp.runs.models import Run
from webapp.runs.preemption import is_allowed
from webapp.runs.priorities import PriorityName, priority_name
from webapp.runs.queue import Holder, Standing
from webapp.runs.recorded_events import newest_of
from webapp.suites.models import SuiteEvaluation
from webapp.sweeps.models import Sweep, SweepState

SHOWN = 100  # queued runs
UNKNOWN = "unknown"
WAITS = "Waits for "


@dataclass(frozen=True, slots=True, kw_only=True)
class RunningRow:
    run: Run
    sweep: Sweep | None
    environment: str
    priority: PriorityName
    where: str  # host and process of the engine, and its device
    left: str
    why_unknown: str


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitingRow:
    run: Run
    sweep: Sweep | None
    environment: str
    priority: PriorityName
    standing: Standing
    words: list[str | Holder]  # what it waits for; its position and priority have columns
    starts: str
    lasts: str
    why_unknown: str


@dataclass(frozen=True, slots=True, kw_only=True)
class JobRow:
    noun: str
    text: str
    state: str
    owner: str
    since: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Contents:
    slots: int
    preemption: bool
    running: list[RunningRow] = field(default_factory=list)
    waiting: list[WaitingRow] = field(default_factory=list)
    hidden: int = 0
    unreadable: int = 0  # runs of other projects, with a slot or queued
    evaluations: list[EvaluationRow] = field(default_factory=list)
    jobs: list[JobRow] = field(default_factory=list)
    planned: list[tuple[Sweep, int, int]] = field(default_factory=list)

    @property
    def queued(self) -> int:
        return len(self.waiting) + self.hidden


def contents() -> Contents:
    durations = Durations()
    holders = _full(holder.pk for holder in queue.holders())
    queued = queue.waiting()
    shown = _full(run.pk for run in queued[:SHOWN])
    left = [_left(run, durations) for run in holders]
    expected = schedule(left, [durations.left(run) for run in shown], queue.slots())
    standings = queue.standings(shown)
    known = set(
        readable(Run.objects.filter(pk__in=[run.pk for run in [*holders, *shown]])).values_list("pk", flat=True)
    )
    return Contents(
        slots=queue.slots(),
        preemption=is_allowed(),
        running=[
            _running(run, seconds, durations) for run, seconds in zip(holders, left, strict=True) if run.pk in known
        ],
        waiting=[
            WaitingRow(
                run=run,
                sweep=_sweep_of(run),
                environment=_environment_of(run),
                priority=priority_name(run.priority),
                standing=(standing := standings.get(run.pk, Standing(words=[]))),
                words=_without_position(standing.words),
                starts=_words(one.start, now="now"),
                lasts=_words(durations.left(run)),
                why_unknown="" if durations.left(run) is not None else durations.why_unknown(run),
            )
            for run, one in zip(shown, expected, strict=True)
            if run.pk in known
        ],
        hidden=len(queued) - len(shown),
        unreadable=len(holders) + len(shown) - len(known),
        evaluations=evaluation_rows(),
        jobs=_jobs(),
        planned=_planned(),
    )


def _without_position(words: list[str | Holder]) -> list[str | Holder]:
    return [f"{WAITS}{word.partition(WAITS)[2]}" if isinstance(word, str) and WAITS in word else word for word in words]


def _full(pks: Iterable[str]) -> list[Run]:
    """Whole rows in the order of their keys."""
    order = list(pks)
    found = Run.objects.select_related("owner", "environment_version__definition", "planned__sweep").in_bulk(order)
    return [found[pk] for pk in order if pk in found]


def _left(run: Run, durations: Durations) -> float | None:
    """A paused run may hold its slot forever."""
    return None if run.state == "paused" else durations.left(run)


def _running(run: Run, seconds: float | None, durations: Durations) -> RunningRow:
    why = "It is paused, and holds its slot until it is resumed or stopped." if run.state == "paused" else ""
    return RunningRow(
        run=run,
        sweep=_sweep_of(run),
        environment=_environment_of(run),
        priority=priority_name(run.priority),
        where=_where(run),
        left=_words(seconds),
        why_unknown="" if seconds is not None else why or durations.why_unknown(run),
    )


def _where(run: Run) -> str:
    """`node-1, process 4711, cuda:0`; as much of it as is known."""
    process: dict[str, Any] = run.process
    started = newest_of(run, RunStarted, attempt=run.attempt)
    parts = [
        str(process.get("host") or "").partition("/")[0],  # after it comes a namespace
        f"process {process['pid']}" if process.get("pid") else "",
        "Ray cluster" if run.config.get("backend") == "ray" else "",
        started.device if started else "",
    ]
    return ", ".join(part for part in parts if part) or "The engine is starting."


def _sweep_of(run: Run) -> Sweep | None:
    planned = getattr(run, "planned", None)
    return planned.sweep if planned is not None else None


def _environment_of(run: Run) -> str:
    return str(run.environment_version or ", ".join(str(one["tag"]) for one in run.config.get("environments", [])))


def _words(seconds: float | None, *, now: str = "") -> str:
    if seconds is None:
        return UNKNOWN
    return now if now and seconds == 0 else f"{'in ' if now else ''}about {duration(seconds)}"


def _jobs() -> list[JobRow]:
    """Of every other kind, running ones first."""
    rows = [
        JobRow(
            noun=kind.NOUN,
            text=str(job),
            state=job.state,
            owner=job.owner.get_username() if job.owner else "",
            since=job.started_at or job.created_at,
        )
        for kind in apps.get_models()
        if issubclass(kind, Job) and kind is not SuiteEvaluation
        for job in readable(kind._default_manager.filter(state__in=LIVE)).select_related("owner")[:SHOWN]
    ]
    return sorted(rows, key=lambda row: (row.state != "running", row.since))


def _planned() -> list[tuple[Sweep, int, int]]:
    """Sweeps that go on, with the runs that they have yet to queue, and those that are queued or live."""
    waiting = Count("planned", filter=Q(planned__run=None, planned__problem="", planned__pruned=""))
    sweeps = readable(Sweep.objects.filter(state=SweepState.RUNNING)).select_related("owner").annotate(left=waiting)
    return [(sweep, sweep.left, sweep.at_once) for sweep in sweeps if sweep.left]
