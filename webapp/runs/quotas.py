"""What a user's runs use, and whether another one may be launched.

A run beyond the number at once waits in the queue (`webapp.runs.queue`); one beyond the hours or the disk is refused.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from django.db.models import Q, QuerySet
from django.utils import timezone

from engine.errors import StarboardError
from webapp.quotas.limits import Limits, limits_of, who_can_raise
from webapp.runs.disk import disk_bytes
from webapp.runs.models import Run
from webapp.runs.states import SUPERVISED
from webapp.runs.usage import device_hours_since

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
    if user_id is None:
        return
    limits = limits_of(user_id)
    _check_hours(user_id, limits)
    _check_disk(user_id, limits)


def _check_hours(user_id: int, limits: Limits) -> None:
    if limits.device_hours is None:
        return
    hours = _device_hours(user_id)
    if hours >= limits.device_hours:
        raise QuotaExceeded(
            f"Your runs have used {hours:.1f} of the {limits.device_hours} device hours that you may use in 30 days.",
            remedy=f"Wait until earlier ones are older than that. {who_can_raise()}",
        )


def _check_disk(user_id: int, limits: Limits) -> None:
    if limits.disk_gib is None:
        return
    occupied = _disk_bytes(user_id)
    if occupied >= limits.disk_gib * GIB:
        raise QuotaExceeded(
            f"Your runs occupy {occupied / GIB:.1f} of the {limits.disk_gib} GiB of disk that they may.",
            remedy=f"Delete runs that you no longer need. {who_can_raise()}",
        )


def _device_hours(user_id: int) -> float:
    since = timezone.now() - WINDOW
    recent = _mine(user_id).filter(imported_from="", started_at__isnull=False)
    recent = recent.filter(Q(finished_at=None) | Q(finished_at__gte=since))
    return sum(device_hours_since(run, since.timestamp()) for run in recent)


def _disk_bytes(user_id: int) -> int:
    """Each file once, also if runs of others have links to it."""
    return sum(sum(disk_bytes(run.directory)) for run in _mine(user_id).only("pk"))


def _mine(user_id: int) -> QuerySet[Run]:
    return Run.objects.filter(owner_id=user_id)
