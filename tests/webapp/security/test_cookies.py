"""The two cookies: unreachable for scripts and other sites' pages, and useless to another installation."""

from __future__ import annotations

from django.conf import settings
from django.test import Client

from tests.webapp.world import World


def test_cookies_are_sent_only_with_same_site_requests(world: World, client: Client) -> None:
    world.user.set_password("a long enough password")
    world.user.save()
    client.get("/accounts/login/")
    client.post("/accounts/login/", {"username": world.user.username, "password": "a long enough password"})
    assert set(client.cookies) == {settings.SESSION_COOKIE_NAME, settings.CSRF_COOKIE_NAME}
    for cookie in client.cookies.values():
        assert (cookie["httponly"], cookie["samesite"], cookie["domain"]) == (True, "Lax", "")


def test_a_session_cookie_of_another_installation_is_not_accepted(world: World, client: Client) -> None:
    client.force_login(world.user)
    other = Client()
    other.cookies["starboard_session_0123abcd"] = str(client.session.session_key)
    assert other.get("/api/v1/runs/").status_code == 401
