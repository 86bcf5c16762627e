"""Evaluations on suites in the queue: what runs, what waits for what, and when each is expected to start and end."""

from __future__ import annotations

from dataclasses import dataclass

from django.db.models import Q

from webapp.durations import duration
from webapp.jobs import LIVE, JobState
from webapp.projects.access import can
from webapp.projects.models import Role
from webapp.queue_pages.schedule import schedule
from webapp.suites.models import SuiteEvaluation
from webapp.suites.waiting import Waiting, seconds_left, waiting_of

SHOWN = 100
UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluationRow:
    """`starts` is empty for one that runs; `waiting` None."""

    evaluation: SuiteEvaluation
    waiting: Waiting | None
    starts: str
    left: str


def evaluation_rows() -> list[EvaluationRow]:
    """Running ones first, then queued ones in the order in which they start."""
    return sorted(
        (row for lane in SuiteEvaluation.lanes() for row in _of_lane(lane.where, lane.at_once)),
        key=lambda row: (row.evaluation.state != JobState.RUNNING, row.evaluation.pk),
    )


def _of_lane(where: Q, at_once: int) -> list[EvaluationRow]:
    rows = SuiteEvaluation.objects.filter(where, state__in=LIVE).select_related("version__suite", "owner")
    found = list(rows.order_by("pk")[:SHOWN])
    running = [one for one in found if one.state == JobState.RUNNING]
    queued = [one for one in found if one.state == JobState.QUEUED]
    left = {one.pk: seconds_left(one) for one in found}
    expected = schedule([left[one.pk] for one in running], [left[one.pk] for one in queued], at_once)
    shown = [EvaluationRow(evaluation=one, waiting=None, starts="", left=_words(left[one.pk])) for one in running]
    shown += [
        EvaluationRow(
            evaluation=one,
            waiting=waiting_of(one),
            starts="now" if times.start == 0 else _words(times.start, before="in "),
            left=_words(left[one.pk]),
        )
        for one, times in zip(queued, expected, strict=True)
    ]
    return [row for row in shown if can(row.evaluation, Role.VIEWER)]


def _words(seconds: float | None, *, before: str = "") -> str:
    return UNKNOWN if seconds is None else f"{before}about {duration(seconds)}"
