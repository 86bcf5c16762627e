"""Every route of the site, as an anonymous and as a signed-in user, against the table in `roles`."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

import pytest
from channels.db import database_sync_to_async
from django.conf import settings
from django.contrib.auth.models import User
from django.test import Client
from pytest_django import Settings

from tests.webapp.members.people import a_member
from tests.webapp.security.digests import database_digest
from tests.webapp.security.roles import (
    ADMINISTRATOR,
    EACH,
    HTTP,
    JSON_401,
    NOT_FOUND,
    OF_A_LIST,
    OPEN,
    ROLES,
    SOCKETS,
    STRANGER,
    TO_SIGN_IN,
    VIEWER,
)
from tests.webapp.security.routes import address, http_routes, socket_routes
from tests.webapp.security.undone import KeptFolder, undone
from tests.webapp.security.wire import Header, socket
from tests.webapp.world import World, make_world
from webapp.accounts.services import local_user
from webapp.asgi import application
from webapp.projects.models import Role
from webapp.runs.models import Run
from webapp.runs.states import RunState

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


def test_an_anonymous_user_gets_the_status_in_the_table(world: World, client: Client) -> None:
    assert {row.anonymous for row in HTTP.values()} == {OPEN, JSON_401, TO_SIGN_IN}
    for route, row in HTTP.items():
        for method in METHODS if row.anonymous != OPEN else ():
            answer = getattr(client, method)(address(route, world))
            if row.anonymous == JSON_401:
                assert (answer.status_code, answer["Content-Type"]) == (401, "application/json"), (route, method)
            else:
                assert answer.status_code == 302, (route, method)
                assert answer["Location"].startswith("/accounts/login/?next="), (route, method)


def test_every_route_with_a_parameter_says_which_role_it_needs() -> None:
    named = {route: row for route, row in HTTP.items() if "<" in route}
    assert [route for route, row in named.items() if not (row.reads or row.acts)] == []
    assert [route for route, row in named.items() if row.post != 405 and not row.acts] == []
    assert [route for route, row in named.items() if row.get != 405 and not row.reads] == []


@pytest.mark.parametrize("role", ROLES)
def test_a_signed_in_user_gets_the_status_in_the_table(role: str, world: World, tmp_path: Path, client: Client) -> None:
    """On each route in the same world. A method that a route does not have is refused before anything asks who wants
    it: one role tries those."""
    wrong, files = [], KeptFolder(tmp_path / "runs", tmp_path / "before")
    client.force_login(user_with(role, world))
    for route, row in HTTP.items():
        for method in ("get", "post"):
            if row.status(role, method) == 405 and role != ADMINISTRATOR:
                continue
            with undone(client):
                status = getattr(client, method)(address(route, world)).status_code
            if status != row.status(role, method):
                wrong.append((route, method, status))
        files.restore()
    assert wrong == []


@pytest.mark.parametrize("role", [STRANGER, VIEWER])
def test_the_owner_of_a_run_has_the_rights_of_their_role_and_no_others(role: str, world: World, client: Client) -> None:
    """Of one who launched everything here and has been removed from the project since, or may only read it."""
    owner = user_with(role, world)
    run, evaluation = world.run, world.evaluation
    owned = (run, world.environment, world.sweep, world.report, world.rollouts, world.what_if, world.preflight)
    for one in (*owned, evaluation, evaluation.version.suite):
        assert type(one).objects.filter(pk=one.pk).update(owner=owner) == 1
    wrong = []
    for route, row in HTTP.items():
        for method, needed in (("get", row.reads), ("post", row.acts)):
            if needed in ("", EACH):
                continue
            client.force_login(owner)
            status = getattr(client, method)(address(route, world)).status_code
            if status != row.status(role, method):
                wrong.append((route, method, status))
    assert wrong == []


def test_a_stranger_reads_nothing_of_a_project(db: None, client: Client) -> None:
    """Neither on its own pages nor in any list, search, total or suggestion."""
    world, shown = make_world(name="unheard-of", text="unsaid"), []
    client.force_login(user_with(STRANGER, world))
    for path in [address(route, world) for route, row in HTTP.items() if row.get != 405]:
        with undone(client):
            text = client.get(path).getvalue().decode()
        words = {"unheard-of", "unsaid"} | ({world.run.pk} if world.run.pk not in path else set())
        shown += [(path, word) for word in words if word in text]  # an error may repeat what was sent
    assert shown == []


def user_with(role: str, world: World) -> User:
    """With that role in the project of the world."""
    if role == ADMINISTRATOR:
        return world.user
    return User.objects.create_user(role) if role == STRANGER else a_member(role, Role(role))


def test_no_route_accepts_a_form_without_its_token(world: World) -> None:
    strict, accepted = Client(enforce_csrf_checks=True), []
    strict.force_login(world.user)
    for route in HTTP:
        with undone(strict):
            status = strict.post(address(route, world)).status_code
        if status != 403:
            accepted.append((route, status))
    assert accepted == []


def test_public_pages_reveal_nothing_about_the_installation(world: World, client: Client) -> None:
    shown = []
    for route in [route for route, row in HTTP.items() if row.anonymous == OPEN]:
        text = client.get(address(route, world)).getvalue().decode()
        shown += [(route, word) for word in (world.run.pk, world.run.name) if word in text]
    assert shown == []


def test_get_requests_change_nothing(world: World, client: Client) -> None:
    client.force_login(world.user)
    before, changing = database_digest(), []
    for route in HTTP:
        with undone(client):
            client.get(address(route, world))
            client.head(address(route, world))
            if database_digest() != before:
                changing.append(route)
    assert changing == []


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


@pytest.mark.parametrize("route", SOCKETS)
@pytest.mark.django_db(transaction=True)
async def test_a_socket_serves_members_of_the_project_alone(route: str, tmp_path: Path, settings: Settings) -> None:
    settings.RUNS_DIR = str(tmp_path / "runs")
    path, cookies = await database_sync_to_async(path_and_cookies)(route)
    for role, cookie in cookies.items():
        sent = await socket(application, path, [*BROWSER, cookie], words=2)
        if role == STRANGER and route not in OF_A_LIST:
            assert sent == [{"type": "websocket.accept"}, {"type": "websocket.close", "code": NOT_FOUND}]
        else:
            assert json.loads(sent[1]["text"])["kind"] == "hello"
            assert role != STRANGER or json.loads(sent[1]["text"])["states"] == []


def path_and_cookies(route: str) -> tuple[str, dict[str, Header]]:
    """The path of the socket in a world with a live run, and a session for each role."""
    world = make_world()
    Run.objects.filter(pk=world.run.pk).update(state=RunState.RUNNING)
    found: dict[str, Header] = {}
    for role in ROLES:
        client = Client()
        client.force_login(user_with(role, world))
        found[role] = ("Cookie", f"{settings.SESSION_COOKIE_NAME}={client.session.session_key}")
    pk = world.rollouts.pk if route.startswith("ws/imports/") else world.evaluation.pk
    path = route.replace("<str:run_id>", world.run.pk).replace("<int:what_if_id>", str(world.what_if.pk))
    return "/" + path.replace("<int:pk>", str(pk)), found
