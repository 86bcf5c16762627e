"""A session of a browser, with what its user recognises it by."""

from __future__ import annotations

import hashlib

from django.conf import settings
from django.contrib.sessions.backends.base import SessionBase
from django.contrib.sessions.base_session import AbstractBaseSession
from django.db import models
from django.utils import timezone

LONGEST_BROWSER = 300


class UserSession(AbstractBaseSession):
    """`user` is null before signing in. `address` and `browser` are those of the last use."""

    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.CASCADE, related_name="browser_sessions"
    )
    browser = models.CharField(max_length=LONGEST_BROWSER, default="")  # the User-Agent
    address = models.CharField(max_length=45, default="")
    started_at = models.DateTimeField(default=timezone.now)
    last_used_at = models.DateTimeField(default=timezone.now)

    @classmethod
    def get_session_store_class(cls) -> type[SessionBase]:
        from webapp.user_sessions.store import SessionStore

        return SessionStore

    @property
    def handle(self) -> str:
        """Names the session on pages, which must not have its key."""
        return hashlib.sha256(self.session_key.encode()).hexdigest()[:20]
