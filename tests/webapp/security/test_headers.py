"""The headers of every response: pages, JSON, static files, redirects, and errors of every kind."""

from __future__ import annotations

from pathlib import Path

import pytest
from django.conf import settings as site
from django.db import InterfaceError, OperationalError
from django.test import Client
from pytest_django import Settings

from tests.webapp.security.routes import address, http_routes
from tests.webapp.security.undone import undone
from tests.webapp.security.wire import http
from tests.webapp.world import World
from webapp.asgi import application
from webapp.runs.models import Run

FIXED = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}
STRICT = {
    "default-src": "'none'",
    "script-src": "'self'",
    "style-src": "'self'",
    "style-src-attr": "'none'",
    "img-src": "'self' data: blob:",
    "connect-src": "'self'",
    "base-uri": "'none'",
    "form-action": "'self'",
    "frame-ancestors": "'none'",
    "object-src": "'none'",
}


def assert_guarded(answer: object, where: str) -> None:
    headers = {name.title(): value for name, value in answer.items()}  # type: ignore[attr-defined]
    assert {name: headers.get(name.title()) for name in FIXED} == FIXED, where
    assert "camera=()" in headers["Permissions-Policy"], where
    policy = dict(part.strip().split(" ", 1) for part in headers["Content-Security-Policy"].split(";"))
    assert {name: policy.get(name) for name in STRICT} == STRICT, where
    assert "unsafe" not in headers["Content-Security-Policy"], where
    assert "Server" not in headers, where


def test_every_route_has_the_headers_for_anonymous_and_signed_in_users(world: World, client: Client) -> None:
    paths = [address(route, world) for route in http_routes()]
    for path in paths:
        assert_guarded(client.get(path), f"anonymous at {path}")
    client.force_login(world.user)
    for path in paths:
        with undone(client):
            assert_guarded(client.get(path), f"user at {path}")


@pytest.mark.django_db
@pytest.mark.parametrize(("path", "status"), [("/nowhere/", 302), ("/static/nowhere.css", 404), ("/runs/..%2f..", 302)])
def test_not_found_pages_have_the_headers(path: str, status: int, client: Client) -> None:
    answer = client.get(path)
    assert_guarded(answer, path)
    assert answer.status_code in (status, 404)


def test_pages_are_not_cached(world: World, client: Client) -> None:
    client.force_login(world.user)
    assert client.get(f"/api/v1/runs/{world.run.pk}/")["Cache-Control"] == "private, no-store"


def test_a_server_error_shows_a_reference_and_no_traceback(
    world: World, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    def break_down(run: Run) -> None:
        raise RuntimeError("a secret path: /home/ada/.ssh")

    monkeypatch.setattr(Run, "live_state", break_down)
    client.force_login(world.user)
    client.raise_request_exception = False
    answer = client.get(f"/api/v1/runs/{world.run.pk}/")
    assert answer.status_code == 500
    assert_guarded(answer, "500")
    assert "secret" not in answer.content.decode()
    assert "Reference" in answer.json()["remedy"]


def test_a_failing_page_shows_a_reference_and_no_traceback(
    world: World, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    def break_down(request: object, **_: object) -> None:
        raise RuntimeError("a secret path: /home/ada/.ssh")

    monkeypatch.setattr("webapp.accounts.views.use_token", break_down)
    client.raise_request_exception = False
    answer = client.get("/accounts/sign-in/?token=x")
    assert answer.status_code == 500
    assert_guarded(answer, "500")
    assert "secret" not in answer.content.decode()
    assert "Reference" in answer.content.decode()


@pytest.mark.parametrize("error", [OperationalError, InterfaceError])
def test_without_the_database_a_page_and_the_api_say_that_nothing_was_done_or_that_it_is_not_known(
    world: World, client: Client, monkeypatch: pytest.MonkeyPatch, error: type[Exception]
) -> None:
    def break_down(*_: object, **__: object) -> None:
        raise error("server closed the connection: password of ada")

    client.force_login(world.user)
    client.raise_request_exception = False
    monkeypatch.setattr(Run, "live_state", break_down)
    monkeypatch.setattr("webapp.runs.services.run_again", break_down)
    read = client.get(f"/api/v1/runs/{world.run.pk}/")
    acted = client.post(f"/runs/{world.run.pk}/again/")
    assert (read.status_code, acted.status_code) == (503, 504)
    assert (read["Retry-After"], acted["Retry-After"]) == ("5", "5")
    assert read.json()["error"] == "The database is not available"
    assert "is not known" in acted.content.decode()
    assert "ada" not in read.content.decode() + acted.content.decode()
    assert_guarded(acted, "504")


def test_a_form_without_its_token_is_refused_with_a_remedy(world: World) -> None:
    strict = Client(enforce_csrf_checks=True)
    strict.force_login(world.user)
    answer = strict.post("/accounts/logout/")
    assert answer.status_code == 403
    assert_guarded(answer, "CSRF")
    assert "Reload the page" in answer.content.decode()


async def test_a_refusal_of_the_guard_has_the_headers() -> None:
    answer = await http(application, "GET", "/", [("Host", "evil.example")])
    assert answer.status == 400
    assert {name: answer.headers.get(name.title()) for name in FIXED} == FIXED
    assert answer.headers["Content-Security-Policy"].startswith("default-src 'none'")


def test_static_files_have_the_headers(client: Client) -> None:
    file = next((Path(site.BASE_DIR) / "static" / "css").glob("*.css"))
    answer = client.get(f"{site.STATIC_URL}css/{file.name}")
    assert answer.status_code == 200
    assert_guarded(answer, file.name)


@pytest.mark.parametrize(
    "path", ["../manage.py", "%2e%2e/manage.py", "..%2fmanage.py", "../../manage.py", "/etc/passwd"]
)
def test_files_outside_the_static_folder_are_not_served(path: str, client: Client, db: None) -> None:
    assert client.get(site.STATIC_URL + path).status_code in (302, 404)


def test_tls_is_required_only_if_all_origins_use_it(settings: Settings, client: Client, db: None) -> None:
    assert "Strict-Transport-Security" not in client.get("/healthz")
