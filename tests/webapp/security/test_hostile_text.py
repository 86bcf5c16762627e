"""Hostile strings in everything that a user, an agent or an environment may write, through every page and response."""

from __future__ import annotations

import itertools
import json
from pathlib import Path

import pytest
from django.http import HttpResponse
from django.test import Client
from pytest_django import Settings

from tests.hostile import HOSTILE, STORABLE, short
from tests.webapp.security.page_reader import PageReader, read_page
from tests.webapp.security.roles import HTTP
from tests.webapp.security.routes import address
from tests.webapp.security.undone import undone
from tests.webapp.world import World, make_world
from webapp.runs.services import rename
from webapp.visible_text import visible

ATTACKS = "\n".join(text for text in STORABLE if len(text) < 2_000)
NAME = '"><script>alert("h00")</script>\u202egpj.'
PAGES = [route for route, row in HTTP.items() if row.get == 200]


@pytest.fixture
def hostile_world(db: None, settings: Settings, tmp_path: Path) -> World:
    """Names that break out of an attribute and of an element, and every attack in every other text."""
    settings.RUNS_DIR = str(tmp_path / "runs")
    return make_world(name=NAME, text=ATTACKS, texts=[ATTACKS])


# saved, never shown
FILES = ("text/plain", "text/csv", "application/toml", "application/x-tar", "application/vnd.apache.parquet")
REPORTS = ("reports/<int:pk>/", "reports/<int:pk>/download/")  # whose text may link to other sites


def test_every_page_escapes_hostile_text_and_names_its_hidden_characters(hostile_world: World, client: Client) -> None:
    client.force_login(hostile_world.user)
    for route in PAGES:
        with undone(client):
            answer = client.get(address(route, hostile_world))
        assert answer.status_code == 200, route
        if answer["Content-Type"].startswith("text/html"):
            page = read_page(answer.content.decode())
            assert dangers_of(page, answer) == [], route
            assert page.away == [] or route in REPORTS, route
            assert [text for text in page.text if text != visible(text)] == [], route
        else:
            assert_safe_file(answer, route)


def assert_safe_file(answer: HttpResponse, route: str) -> None:
    assert answer["X-Content-Type-Options"] == "nosniff", route
    if answer["Content-Type"].split(";")[0] in FILES:
        assert answer["Content-Disposition"].startswith("attachment;"), route
    else:
        assert answer["Content-Type"] in ("application/json", "application/x-ndjson"), route
        whole = answer["Content-Type"] == "application/json"
        for line in [answer.content] if whole else answer.getvalue().splitlines():
            json.loads(line)
        assert whole or answer.getvalue().isascii(), route  # in an exported file hidden characters are escapes


def dangers_of(page: PageReader, answer: HttpResponse) -> list[str]:
    """A page that is saved as one file has its styles in it."""
    is_file = answer.get("Content-Disposition", "").startswith("attachment;")
    return [one for one in page.dangers if not (is_file and one.startswith("inline <style>"))]


@pytest.mark.parametrize(
    "route", ["runs/", "runs/<str:run_id>/", "trajectories/", "environments/", "environments/<int:pk>/"]
)
def test_the_name_is_shown_as_it_was_written(route: str, hostile_world: World, client: Client) -> None:
    client.force_login(hostile_world.user)
    page = read_page(client.get(address(route, hostile_world)).content.decode())
    assert visible(NAME) in "".join(page.text)


def test_every_hostile_name_of_a_run_is_harmless_on_its_pages(world: World, client: Client) -> None:
    client.force_login(world.user)
    lists = itertools.cycle(["runs/", "trajectories/", "leaderboard/"])
    for name in short(80):
        rename(world.run, name)
        for route in ("runs/<str:run_id>/", next(lists)):
            answer = client.get(address(route, world))
            assert answer.status_code == 200, (name, route)
            assert read_page(answer.content.decode()).dangers == [], (name, route)


def test_every_hostile_response_arrives_unchanged(db: None, settings: Settings, tmp_path: Path, client: Client) -> None:
    """Including those with NUL, lone surrogates and hundreds of thousands of characters: they are in files, not in
    rows."""
    settings.RUNS_DIR = str(tmp_path / "runs")
    world = make_world(texts=HOSTILE)
    client.force_login(world.user)
    for trajectory, text in zip(world.trajectories, HOSTILE, strict=True):
        path = f"/runs/{world.run.pk}/trajectories/{trajectory.pk}/"
        page = client.get(path)
        assert page.status_code == 200, text[:40]
        assert read_page(page.content.decode()).dangers == [], text[:40]
        answer = client.get(f"{path}data.json")
        assert answer.status_code == 200, text[:40]
        assert json.loads(answer.content)["turns"][0]["response"] == text


def test_hostile_query_strings_break_no_page(world: World, client: Client) -> None:
    """Filters, sorts and cursors come from URLs that anyone may write. Across the pages, each key meets each text."""
    client.force_login(world.user)
    keys = ["q", "state", "after", "before", "sort", "step", "environment", "split", "runs", "clone", "turn", "kept",
            "ids", "best", "from", "alert", "seed", "run", "parse"]  # fmt: skip
    texts = itertools.cycle(short(200))
    for route in PAGES:
        for _ in range(3):
            query = dict(zip(keys, texts, strict=False))
            answer = client.get(address(route, world), query)
            assert answer.status_code in (200, 302, 400, 404), (route, query)
            if answer["Content-Type"].startswith("text/html"):
                assert dangers_of(read_page(answer.content.decode()), answer) == [], (route, query)


@pytest.mark.parametrize("run_id", ["..", "%2e%2e", "..%2f..%2fetc", "a'b", "%00", "<script>", "a" * 300, "%ED%A0%80"])
def test_hostile_ids_of_runs_are_not_found(run_id: str, world: World, client: Client) -> None:
    client.force_login(world.user)
    for rest in ("", "log/", "trajectories/", "trajectories/1/"):
        assert client.get(f"/runs/{run_id}/{rest}").status_code in (400, 404)


@pytest.mark.parametrize("file", ["../../../../etc/passwd", "/etc/passwd", "trajectories/../../secret"])
def test_a_row_that_points_outside_its_run_directory_is_not_read(file: str, world: World, client: Client) -> None:
    trajectory = world.trajectories[0]
    trajectory.file = file
    trajectory.save()
    client.force_login(world.user)
    answer = client.get(f"/runs/{world.run.pk}/trajectories/{trajectory.pk}/data.json")
    assert answer.status_code >= 400
    assert "root:" not in answer.content.decode()


def test_a_symlink_in_the_run_directory_is_not_followed(world: World, client: Client) -> None:
    """An engine, or an environment inside it, may create links in its directory."""
    file = world.run.directory / world.trajectories[0].file
    file.unlink()
    file.symlink_to("/etc/passwd")
    log = world.run.directory / "engine.log"
    log.unlink()
    log.symlink_to("/etc/passwd")
    client.force_login(world.user)
    answer = client.get(f"/runs/{world.run.pk}/trajectories/{world.trajectories[0].pk}/data.json")
    assert answer.status_code >= 400
    assert "root:" not in client.get(f"/runs/{world.run.pk}/log/").content.decode()
    assert "root:" not in client.get(f"/runs/{world.run.pk}/").content.decode()


@pytest.mark.parametrize(
    ("html", "danger"),
    [
        ("<img src=x onerror=alert(1)>", "<img onerror='alert(1)'>"),
        ("<script>alert(1)</script>", "inline <script>: 'alert(1)'"),
        ("<a href='java\tscript:alert(1)'>x</a>", "<a href='java\\tscript:alert(1)'>"),
        ("<a href='//evil.example'>x</a>", "<a href='//evil.example'>"),
        ("<p style='color:red'>", "<p style='color:red'>"),
        ("<iframe></iframe>", "<iframe>"),
    ],
)
def test_the_page_checker_detects_unsafe_markup(html: str, danger: str) -> None:
    assert read_page(html).dangers == [danger]


def test_the_page_checker_accepts_ordinary_pages() -> None:
    page = "<script src='/static/a.js'></script><script type='application/json'>{}</script><a href='/runs/?a=b'>x</a>"
    assert read_page(page).dangers == []
