"""What a queued evaluation waits for, and when evaluations are expected to end."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from statistics import median

from webapp.durations import duration
from webapp.jobs import JobState, Lane
from webapp.projects.access import readable
from webapp.suites.models import PolicyKind, SuiteEvaluation

EARLIER = 20  # evaluations on the same version, by which another one's time is estimated


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    """`ahead` run or come before it in its lane; without any it waits for a worker only."""

    at_once: int
    of_endpoints: bool
    running: list[SuiteEvaluation]  # that the reader may read
    count: int  # that run
    before: int

    @property
    def words(self) -> str:
        kind = "of an endpoint" if self.of_endpoints else "of a local model"
        if self.before + self.count < self.at_once:
            return "Waits for a worker."
        queued = f", after {self.before} that come{'s' if self.before == 1 else ''} first" if self.before else ""
        count = "one evaluation" if self.at_once == 1 else f"{self.at_once} evaluations"
        return f"Waits for a running one to end{queued}: {count} {kind} at a time."


def waiting_of(evaluation: SuiteEvaluation) -> Waiting | None:
    """None for one that is not queued."""
    if evaluation.state != JobState.QUEUED:
        return None
    rows = SuiteEvaluation.objects.all()
    lane = lane_of(evaluation)
    queued = rows.filter(lane.where, state=JobState.QUEUED, pk__lt=evaluation.pk)
    running = rows.filter(lane.where, state=JobState.RUNNING).select_related("version__suite").order_by("pk")
    return Waiting(
        at_once=lane.at_once,
        of_endpoints=evaluation.policy == PolicyKind.ENDPOINT,
        running=list(readable(running)),
        count=running.count(),
        before=queued.count(),
    )


def lane_of(evaluation: SuiteEvaluation) -> Lane:
    rows = SuiteEvaluation.objects.filter(pk=evaluation.pk)
    return next(lane for lane in SuiteEvaluation.lanes() if rows.filter(lane.where).exists())


def left_in_words(evaluation: SuiteEvaluation) -> str:
    """If the rest goes as fast as its episodes so far; empty while that is not known. Example: `about 40 s left`."""
    seconds = seconds_left(evaluation) if evaluation.state == JobState.RUNNING and evaluation.played else None
    return "" if seconds is None else f"about {duration(seconds)} left"


def seconds_left(evaluation: SuiteEvaluation) -> float | None:
    """By its own episodes once there are some, else by earlier evaluations on the same version."""
    left = evaluation.planned - evaluation.played
    if evaluation.played and evaluation.seconds:
        return left * evaluation.seconds / evaluation.played
    rate = _usual_rate(evaluation)
    return None if rate is None else left * rate


def _usual_rate(evaluation: SuiteEvaluation) -> float | None:
    """Seconds of an episode, of models of the same kind."""
    rows = SuiteEvaluation.objects.filter(
        version=evaluation.version_id, state=JobState.FINISHED, imported=False, played__gt=0, seconds__gt=0
    )
    endpoint = evaluation.policy == PolicyKind.ENDPOINT
    alike = rows.filter(policy=PolicyKind.ENDPOINT) if endpoint else rows.exclude(policy=PolicyKind.ENDPOINT)
    rates: Iterable[float] = [one.seconds / one.played for one in alike.order_by("-pk")[:EARLIER]]
    return median(rates) if rates else None
