"""Sockets of signed-in browsers over a real channel layer, closed at the end of their test."""

from __future__ import annotations

from typing import Any

from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY, get_user_model

from tests.webapp.live.browser import Browser
from webapp.user_sessions.store import SessionStore


def layers(address: str, **options: Any) -> dict[str, Any]:
    hosts = [{"address": address, "socket_timeout": 30}]
    backend = "channels_redis.core.RedisChannelLayer"
    return {"default": {"BACKEND": backend, "CONFIG": {"hosts": hosts, **options}}}


def signed_in_session() -> SessionStore:
    user = get_user_model().objects.create_user("ada", password="x")
    store = SessionStore()
    store[SESSION_KEY] = str(user.pk)
    store[BACKEND_SESSION_KEY] = "django.contrib.auth.backends.ModelBackend"
    store[HASH_SESSION_KEY] = user.get_session_auth_hash()
    store.save()
    return store


class Sockets:
    """Opens sockets as browsers would, and closes them all at the end."""

    def __init__(self) -> None:
        self.opened: list[Browser] = []

    async def open(self, address: str, session: SessionStore | None) -> Browser:
        browser = Browser(address, session)
        self.opened.append(browser)
        await browser.connect()
        return browser
