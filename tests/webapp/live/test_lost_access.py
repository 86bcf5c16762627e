"""Whoever may no longer read what a socket shows is sent nothing more: it is closed with the next heartbeat at the
latest, without an update that says so."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import pytest
from channels.db import database_sync_to_async
from django.contrib.auth.models import User
from django.test import Client
from django.urls import path

from engine.events import PhaseChanged
from tests.webapp.event_rows import add_event
from tests.webapp.live import browser
from tests.webapp.live.browser import Browser
from tests.webapp.live.sockets import Sockets, layers
from tests.webapp.members.people import a_member
from tests.webapp.security.routes import socket_routes
from tests.webapp.world import World, make_world
from webapp.jobs import JobState
from webapp.launching.models import RolloutImport
from webapp.live import consumers
from webapp.projects.models import Membership
from webapp.run_pages import consumers as run_consumers
from webapp.runs.models import Run
from webapp.runs.states import RunState
from webapp.suites.models import SuiteEvaluation
from webapp.whatif.models import WhatIf

pytestmark = pytest.mark.django_db(transaction=True)

HEARTBEAT = 0.3


@dataclass(frozen=True, slots=True, kw_only=True)
class Watched:
    """What a socket shows: its address, and a change that its page is sent."""

    path: Callable[[World], str]
    change: Callable[[World], Any]


def change_run(world: World) -> None:
    Run.objects.filter(pk=world.run.pk).update(state_reason="changed")


def change_what_if(world: World) -> None:
    WhatIf.objects.filter(pk=world.what_if.pk).update(state=JobState.STOPPED)


def change_evaluation(world: World) -> None:
    SuiteEvaluation.objects.filter(pk=world.evaluation.pk).update(played=7)


def change_import(world: World) -> None:
    RolloutImport.objects.filter(pk=world.rollouts.pk).update(read=7)


LIST = "ws/runs/"  # stays open, and shows what each may read
WATCHED: dict[str, Watched] = {
    LIST: Watched(path=lambda world: "/ws/runs/", change=change_run),
    "ws/runs/<str:run_id>/": Watched(path=lambda world: f"/ws/runs/{world.run.pk}/", change=change_run),
    "ws/runs/<str:run_id>/what-ifs/<int:what_if_id>/": Watched(
        path=lambda world: f"/ws/runs/{world.run.pk}/what-ifs/{world.what_if.pk}/", change=change_what_if
    ),
    "ws/evaluations/<int:pk>/": Watched(
        path=lambda world: f"/ws/evaluations/{world.evaluation.pk}/", change=change_evaluation
    ),
    "ws/imports/<int:pk>/": Watched(path=lambda world: f"/ws/imports/{world.rollouts.pk}/", change=change_import),
}


def end_session(user: User) -> None:
    user.browser_sessions.all().delete()


def remove_from_project(user: User) -> None:
    Membership.objects.filter(user=user).delete()


def deactivate(user: User) -> None:
    User.objects.filter(pk=user.pk).update(is_active=False)


LOSSES: dict[str, tuple[Callable[[User], Any], int]] = {  # with the code that closes the socket
    "ended": (end_session, 4401),
    "removed": (remove_from_project, 4404),
    "deleted": (User.delete, 4401),
    "deactivated": (deactivate, 4401),
}


@pytest.fixture(autouse=True)
def _heartbeats_alone(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.CHANNEL_LAYERS = layers("unix:///nowhere/redis.sock")
    monkeypatch.setattr(consumers.LiveConsumer, "heartbeat_seconds", HEARTBEAT)


def live_world() -> World:
    world = make_world()
    Run.objects.filter(pk=world.run.pk).update(state=RunState.RUNNING)
    return world


def signed_in(name: str) -> tuple[User, Any]:
    """A new editor of the project of the world, and the session."""
    user, client = a_member(name), Client()
    client.force_login(user)
    return user, client.session


async def until_closed(socket: Browser) -> tuple[int, list[str]]:
    """The code, and the kinds of the messages before it but heartbeats."""
    kinds = []
    while (message := await socket.receive())["type"] != "websocket.close":
        kinds.append(json.loads(message["text"])["kind"])
    return message["code"], [kind for kind in kinds if kind != "heartbeat"]


def test_every_socket_has_a_row() -> None:
    assert sorted(WATCHED) == socket_routes()


@pytest.mark.parametrize("route", WATCHED)
async def test_whoever_loses_access_is_sent_nothing_more(route: str, sockets: Sockets) -> None:
    world = await database_sync_to_async(live_world)()
    opened: dict[str, Browser] = {}
    for name in (*LOSSES, "kept"):
        user, session = await database_sync_to_async(signed_in)(name)
        opened[name] = await sockets.open(WATCHED[route].path(world), session)
        await opened[name].until("heartbeat")
        if name in LOSSES:
            await database_sync_to_async(LOSSES[name][0])(user)
    closed = {name: code for name, (_, code) in LOSSES.items() if (route, name) != (LIST, "removed")}
    for name, code in closed.items():
        assert await until_closed(opened[name]) == (code, []), name
    await database_sync_to_async(WATCHED[route].change)(world)
    await opened["kept"].until("changed" if "<int:pk>" in route else "state")
    for name in LOSSES.keys() - closed:
        heard = [json.loads((await opened[name].receive())["text"])["kind"] for _ in range(5)]
        assert set(heard) == {"heartbeat"}


class Probe(consumers.LiveConsumer):
    """Its user may read its object when the socket opens, and not any more."""

    group = "probe"
    calls: ClassVar[list[str]]

    async def prepare(self) -> bool:
        return True

    async def is_readable(self) -> bool:
        self.calls.append("check")
        return False

    async def hello(self) -> None:
        self.calls.append("hello")

    async def catch_up(self) -> None:
        self.calls.append("catch up")

    async def beat(self) -> None:
        self.calls.append("beat")


async def test_a_heartbeat_checks_before_it_reads(sockets: Sockets, monkeypatch: pytest.MonkeyPatch) -> None:
    Probe.calls = []
    monkeypatch.setattr(browser, "websocket_urlpatterns", [path("probe/", Probe.as_asgi())])
    _, session = await database_sync_to_async(signed_in)("ada")
    assert await (await sockets.open("/probe/", session)).close_code() == 4404
    assert Probe.calls == ["hello", "catch up", "check"]


async def test_a_slow_browser_that_is_sent_a_long_run_is_closed_on_the_way(
    sockets: Sockets, monkeypatch: pytest.MonkeyPatch
) -> None:
    """200 messages of one event each, 20 ms apart, take 4 s: longer than a heartbeat of 0.3 s."""
    monkeypatch.setattr(run_consumers, "EVENTS_PER_MESSAGE", 1)
    world = await database_sync_to_async(long_run)()
    user, session = await database_sync_to_async(signed_in)("ada")
    socket = Browser(f"/ws/runs/{world.run.pk}/", session)
    socket.delay = 0.02
    sockets.opened.append(socket)
    await socket.connect()
    await socket.until("events")
    await database_sync_to_async(remove_from_project)(user)
    code, kinds = await until_closed(socket)
    assert code == 4404
    assert len(kinds) < 100


async def test_a_long_run_is_sent_whole_across_heartbeats(sockets: Sockets, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_consumers, "EVENTS_PER_MESSAGE", 1)
    world = await database_sync_to_async(long_run)(60)
    _, session = await database_sync_to_async(signed_in)("ada")
    socket = Browser(f"/ws/runs/{world.run.pk}/", session)
    socket.delay = 0.02  # 60 messages take 1.2 s
    sockets.opened.append(socket)
    await socket.connect()
    seen: list[int] = []
    while len(seen) < 60:
        seen += [event["seq"] for event in (await socket.until("events"))["events"] if event["seq"] > 100]
    assert seen == list(range(101, 161))


def long_run(events: int = 200) -> World:
    world = live_world()
    for seq in range(101, 101 + events):
        add_event(world.run, PhaseChanged(step=1, phase="rollout"), seq=seq)
    Run.objects.filter(pk=world.run.pk).update(last_seq=100 + events)
    return world
