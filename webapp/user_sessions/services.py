"""The sessions of a user, and ending them. Open sockets of an ended session are closed at once."""

from __future__ import annotations

from django.contrib.auth.models import User
from django.db import transaction
from django.utils import timezone

from webapp.updates import publish_user
from webapp.user_sessions.models import UserSession


def sessions_of(user: User) -> list[UserSession]:
    """The one that was used last first."""
    return list(UserSession.objects.filter(user=user, expire_date__gt=timezone.now()).order_by("-last_used_at", "pk"))


def end_session(user: User, handle: str) -> bool:
    """False if the user has no such session."""
    found = next((one for one in sessions_of(user) if one.handle == handle), None)
    return found is not None and bool(_end(user, [found.pk]))


def end_others(user: User, session_key: str | None) -> int:
    """All sessions of the user but this one; all with None. Returns how many there were."""
    return _end(user, [one.pk for one in sessions_of(user) if one.pk != session_key])


def _end(user: User, keys: list[str]) -> int:
    ended, _ = UserSession.objects.filter(user=user, pk__in=keys).delete()
    transaction.on_commit(lambda: publish_user(user.pk))
    return ended
