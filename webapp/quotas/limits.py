"""The limits of a user: their own, or else the defaults of the installation; None for no limit."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from django.conf import settings
from django.contrib.auth.models import User

from webapp.quotas.models import UserQuota

FIELDS = ("runs_at_once", "device_hours", "disk_gib")
ADMINISTRATORS_NAMED = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    runs_at_once: int | None
    device_hours: int | None
    disk_gib: int | None

    @property
    def limited(self) -> bool:
        return any(getattr(self, name) is not None for name in FIELDS)


def default_limits() -> Limits:
    return Limits(**{name: getattr(settings, f"STARBOARD_QUOTA_{name.upper()}") for name in FIELDS})


def limits_of(user_id: int) -> Limits:
    return _merged(UserQuota.objects.filter(pk=user_id).first(), default_limits())


def runs_at_once_of(users: Collection[int | None]) -> dict[int, int]:
    """The limit of runs at once of those of the users that have one."""
    own = UserQuota.objects.in_bulk([user for user in users if user is not None])
    default = default_limits()
    found = {user: _merged(own.get(user), default).runs_at_once for user in users if user is not None}
    return {user: limit for user, limit in found.items() if limit is not None}


def who_can_raise() -> str:
    """A sentence."""
    if settings.STARBOARD_CONTACT:
        return f"{settings.STARBOARD_CONTACT} can raise it."
    names = User.objects.filter(is_staff=True, is_active=True).order_by("username").values_list("username", flat=True)
    shown = ", ".join(names[:ADMINISTRATORS_NAMED])
    return f"An administrator can raise it{f': {shown}' if shown else ''}."


def _merged(own: UserQuota | None, default: Limits) -> Limits:
    chosen = {name: getattr(own, name, None) for name in FIELDS}
    return Limits(**{name: getattr(default, name) if value is None else value for name, value in chosen.items()})
