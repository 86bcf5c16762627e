"""Every route of the site, as an anonymous and as a signed-in user, against the table in `roles`."""

from __future__ import annotations

import json
from collections.abc import Iterable

import pytest
from channels.db import database_sync_to_async
from django.conf import settings
from django.test import Client

from tests.webapp.security.digests import database_digest
from tests.webapp.security.roles import HTTP, JSON_401, OPEN, SOCKETS, TO_SIGN_IN, Row
from tests.webapp.security.routes import address, http_routes, socket_routes
from tests.webapp.security.wire import Header, socket
from tests.webapp.world import World
from webapp.accounts.services import local_user
from webapp.asgi import application

BROWSER: list[Header] = [("Host", f"127.0.0.1:{settings.PORT}"), ("Origin", f"http://127.0.0.1:{settings.PORT}")]
TABLE = "(routes without a row, rows without a route); the table is {} in tests/webapp/security/roles.py"
METHODS = ("get", "post", "put", "patch", "delete")


def differences(routes: Iterable[str], table: Iterable[str]) -> tuple[list[str], list[str]]:
    """The routes without a row, and the rows without a route."""
    return sorted({*routes} - {*table}), sorted({*table} - {*routes})


def test_every_route_has_a_row_and_every_row_a_route() -> None:
    assert differences(http_routes(), HTTP) == ([], []), TABLE.format("HTTP")


def test_every_socket_has_a_row_and_every_row_a_socket() -> None:
    assert differences(socket_routes(), SOCKETS) == ([], []), TABLE.format("SOCKETS")


@pytest.mark.parametrize(("route", "row"), HTTP.items())
def test_an_anonymous_user_gets_the_status_in_the_table(route: str, row: Row, world: World, client: Client) -> None:
    if row.anonymous == OPEN:
        return
    for method in METHODS:
        answer = getattr(client, method)(address(route, world))
        if row.anonymous == JSON_401:
            assert (answer.status_code, answer["Content-Type"]) == (401, "application/json"), method
        else:
            assert row.anonymous == TO_SIGN_IN
            assert answer.status_code == 302, method
            assert answer["Location"].startswith("/accounts/login/?next="), method


@pytest.mark.parametrize(("route", "row"), HTTP.items())
def test_a_signed_in_user_gets_the_status_in_the_table(route: str, row: Row, world: World, client: Client) -> None:
    client.force_login(world.user)
    path = address(route, world)
    assert client.get(path).status_code == row.get
    client.force_login(world.user)  # some URLs sign out
    assert client.post(path).status_code == row.post


@pytest.mark.parametrize("route", HTTP)
def test_no_route_accepts_a_form_without_its_token(route: str, world: World) -> None:
    strict = Client(enforce_csrf_checks=True)
    strict.force_login(world.user)
    assert strict.post(address(route, world)).status_code == 403


@pytest.mark.parametrize("route", [route for route, row in HTTP.items() if row.anonymous == OPEN])
def test_public_pages_reveal_nothing_about_the_installation(route: str, world: World, client: Client) -> None:
    text = client.get(address(route, world)).content.decode()
    assert world.run.pk not in text
    assert world.run.name not in text


@pytest.mark.parametrize("route", HTTP)
def test_get_requests_change_nothing(route: str, world: World, client: Client) -> None:
    client.force_login(world.user)
    before = database_digest()
    client.get(address(route, world))
    client.head(address(route, world))
    assert database_digest() == before


@pytest.mark.parametrize("route", SOCKETS)
@pytest.mark.django_db(transaction=True)
async def test_an_anonymous_socket_is_closed_with_the_sign_in_code(route: str) -> None:
    path = route.replace("<str:run_id>", "abc").replace("<int:what_if_id>", "1").replace("<int:pk>", "1")
    sent = await socket(application, f"/{path}", BROWSER, words=2)
    assert sent == [{"type": "websocket.accept"}, {"type": "websocket.close", "code": SOCKETS[route]}]


@pytest.mark.django_db(transaction=True)
async def test_a_signed_in_user_s_socket_stays_open() -> None:
    session = await database_sync_to_async(session_of_local_user)()
    cookie = ("Cookie", f"{settings.SESSION_COOKIE_NAME}={session}")
    sent = await socket(application, "/ws/runs/", [*BROWSER, cookie], words=2)
    assert sent[0]["type"] == "websocket.accept"
    assert json.loads(sent[1]["text"])["kind"] == "hello"


def session_of_local_user() -> str:
    client = Client()
    client.force_login(local_user())
    return str(client.session.session_key)
