"""The session engine: Django's sessions in the database, with a column for the user and for the last use."""

from __future__ import annotations

from datetime import timedelta
from typing import Any, cast

from django.contrib.auth import SESSION_KEY
from django.contrib.sessions.backends.db import SessionStore as DatabaseStore
from django.utils import timezone

from webapp.user_sessions.models import LONGEST_BROWSER, UserSession

RECORDED_EVERY = timedelta(minutes=1)


class SessionStore(DatabaseStore):
    """`used_from` and `record_use` are called by the middleware, once a request."""

    def __init__(self, session_key: str | None = None) -> None:
        super().__init__(session_key)
        self.row: UserSession | None = None  # as it was loaded
        self.browser = self.address = ""

    @classmethod
    def get_model_class(cls) -> type[UserSession]:
        return UserSession

    def used_from(self, address: str, browser: str) -> None:
        self.address, self.browser = address[:45], browser[:LONGEST_BROWSER]

    def record_use(self) -> None:
        """At most once a minute, so that reading does not write each time."""
        row = self.row
        if row is None or row.session_key != self.session_key or timezone.now() - row.last_used_at < RECORDED_EVERY:
            return
        used = {"last_used_at": timezone.now(), "address": self.address, "browser": self.browser}
        UserSession.objects.filter(pk=row.pk).update(**used)

    def create_model_instance(self, data: dict[str, Any]) -> UserSession:
        found = cast(UserSession, super().create_model_instance(data))
        found.user_id = int(data[SESSION_KEY]) if SESSION_KEY in data else None
        found.browser = self.browser or (self.row.browser if self.row else "")
        found.address = self.address or (self.row.address if self.row else "")
        if self.row is not None and found.user_id == self.row.user_id:
            found.started_at = self.row.started_at
        return found

    def _get_session_from_db(self) -> UserSession | None:
        self.row = super()._get_session_from_db()  # type: ignore[misc]  # not in its stub
        return self.row
