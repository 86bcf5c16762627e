"""Who may hold a socket open. The session is read repeatedly, since a socket outlives a sign-out."""

from __future__ import annotations

from importlib import import_module
from types import SimpleNamespace
from typing import Any

from channels.db import database_sync_to_async
from django.conf import settings
from django.contrib.auth import get_user
from django.contrib.auth.models import User

from webapp.projects.access import access_of

SIGNED_OUT = 4401  # the close code that tells a page to go to the sign-in page
NOT_FOUND = 4404


@database_sync_to_async
def user_of(scope: dict[str, Any]) -> User | None:
    """Who is signed in, with the roles that they have now; by the database, not the scope, which is as old as the
    socket."""
    session = scope.get("session")
    if session is None or not session.session_key:
        return None
    store = import_module(settings.SESSION_ENGINE).SessionStore(session.session_key)
    found = get_user(SimpleNamespace(session=store))  # type: ignore[arg-type]
    if not isinstance(found, User):
        return None
    access_of(found)
    return found
