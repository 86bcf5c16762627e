"""What a user's runs use, and whether another one may be launched.

A run beyond the number at once waits in the queue (`webapp.runs.queue`); one beyond the hours or the disk is refused.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from django.db.models import Q, QuerySet
from django.utils import timezone

from engine.errors import StarboardError
from webapp.quotas.limits import Limits, limits_of, who_can_raise
from webapp.runs.disk import disk_bytes
from webapp.runs.models import PastUsage, Run
from webapp.runs.states import SUPERVISED
from webapp.runs.usage import device_hours_since, held_by, hours_since

WINDOW = timedelta(days=30)
GIB = 1 << 30


class QuotaExceeded(StarboardError):
    """A launch beyond what its user may use."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Used:
    runs_at_once: int
    device_hours: float  # in the last 30 days
    disk_bytes: int


def used_by(user_id: int) -> Used:
    return Used(
        runs_at_once=_mine(user_id).filter(state__in=SUPERVISED).count(),
        device_hours=_device_hours(user_id),
        disk_bytes=_disk_bytes(user_id),
    )


def check_launch(user_id: int | None) -> None:
    """Raises `QuotaExceeded`. Measures only what is limited."""
    if user_id is not None:
        _check(user_id, "Your runs", "you")


def check_resume(run: Run, by: object) -> None:
    """The same of the run's owner, whom its hours and its disk count for, also if another user resumes it."""
    if run.owner is None:
        return
    if run.owner == by:
        check_launch(run.owner.pk)
    else:
        _check(run.owner.pk, f"The runs of {run.owner.get_username()}", "they")


def _check(user_id: int, runs: str, who: str) -> None:
    limits = limits_of(user_id)
    _check_hours(user_id, limits, runs, who)
    _check_disk(user_id, limits, runs)


def check_disk(user_id: int | None) -> None:
    """The same of what trains nothing and is stored."""
    if user_id is not None:
        _check_disk(user_id, limits_of(user_id), "Your runs")


def _check_hours(user_id: int, limits: Limits, runs: str, who: str) -> None:
    if limits.device_hours is None:
        return
    hours = _device_hours(user_id)
    if hours >= limits.device_hours:
        raise QuotaExceeded(
            f"{runs} have used {hours:.1f} of the {limits.device_hours} device hours that {who} may use in 30 days.",
            remedy=f"Wait until earlier ones are older than that. {who_can_raise()}",
        )


def _check_disk(user_id: int, limits: Limits, runs: str) -> None:
    if limits.disk_gib is None:
        return
    occupied = _disk_bytes(user_id)
    if occupied >= limits.disk_gib * GIB:
        raise QuotaExceeded(
            f"{runs} occupy {occupied / GIB:.1f} of the {limits.disk_gib} GiB of disk that they may.",
            remedy=f"Delete runs that you no longer need. {who_can_raise()}",
        )


def _device_hours(user_id: int) -> float:
    since = timezone.now() - WINDOW
    recent = _mine(user_id).filter(imported_from="", started_at__isnull=False)
    recent = recent.filter(Q(finished_at=None) | Q(finished_at__gte=since))
    deleted = PastUsage.objects.filter(owner_id=user_id, ended_at__gte=since)
    return sum(device_hours_since(run, since.timestamp()) for run in recent) + sum(
        hours_since(one.devices, one.held, since.timestamp()) for one in deleted
    )


def keep_usage(run: Run) -> None:
    """Of a run that is about to be deleted: what it has used still counts."""
    if run.owner_id is None or run.imported_from:
        return
    PastUsage.objects.filter(ended_at__lt=timezone.now() - WINDOW).delete()
    devices, held = held_by(run)
    ended_at = datetime.fromtimestamp(max((end for _, end in held), default=0.0), UTC)
    if ended_at >= timezone.now() - WINDOW:
        given = {"owner_id": run.owner_id, "devices": devices, "held": held, "ended_at": ended_at}
        PastUsage.objects.update_or_create(run_id=run.pk, defaults=given)


def _disk_bytes(user_id: int) -> int:
    """Each file once, also if runs of others have links to it."""
    return sum(sum(disk_bytes(run.directory)) for run in _mine(user_id).only("pk"))


def _mine(user_id: int) -> QuerySet[Run]:
    return Run.objects.filter(owner_id=user_id)
