"""A social provider, by django-allauth's own adapter: GitHub, whose addresses are those of a server on loopback."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from allauth.socialaccount.providers.github.views import GitHubOAuth2Adapter
from django.contrib.auth.models import User
from django.test import Client
from pytest_django import Settings

from tests.webapp.identity_providers.browser import onward, query_of, signed_in_as
from webapp.identity_providers.configuration import Admission, IdentityProvider

pytestmark = pytest.mark.django_db

START, CALLBACK = "/accounts/sign-in-with/github/", "/accounts/sign-in-with/github/callback/"
PRIVATE = {"email": "grace@home.example", "primary": True, "verified": True}
OF_THE_LAB = {"email": "grace@lab.example", "primary": False, "verified": True}
ANSWERS: dict[str, Any] = {
    "/login/oauth/access_token": {"access_token": "a token", "token_type": "bearer"},
    "/user": {"id": 7, "login": "grace", "name": "Grace", "email": None},
}


@pytest.fixture
def emails() -> list[dict[str, Any]]:
    """What the provider says of the user's addresses."""
    return [PRIVATE, OF_THE_LAB]


@pytest.fixture
def github(emails: list[dict[str, Any]], settings: Settings, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = json.dumps((ANSWERS | {"/user/emails": emails})[self.path]).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            self.do_GET()

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
    here = f"http://127.0.0.1:{server.server_address[1]}"
    monkeypatch.setattr(GitHubOAuth2Adapter, "access_token_url", f"{here}/login/oauth/access_token")
    monkeypatch.setattr(GitHubOAuth2Adapter, "profile_url", f"{here}/user")
    monkeypatch.setattr(GitHubOAuth2Adapter, "emails_url", f"{here}/user/emails")
    one = IdentityProvider(key="github", name="GitHub", client_id="an id", client_secret="a secret")
    settings.STARBOARD_IDENTITY_PROVIDERS = {"github": one}
    settings.STARBOARD_ADMISSION = Admission(domains=frozenset({"lab.example"}))
    yield
    server.shutdown()
    server.server_close()


def sign_in(client: Client) -> Any:
    state = query_of(onward(client.post(START)))["state"]
    return client.get(CALLBACK, {"code": "a code", "state": state})


def test_a_verified_address_of_the_domain_admits_and_is_kept(client: Client, github: None) -> None:
    assert sign_in(client)["Location"] == "/"
    assert signed_in_as(client) == "grace"
    assert User.objects.get(username="grace").email == "grace@lab.example"


def test_an_address_of_the_domain_that_is_not_verified_does_not(
    client: Client, github: None, emails: list[dict[str, Any]]
) -> None:
    emails[1] = {**OF_THE_LAB, "verified": False}
    assert sign_in(client).status_code == 403
    assert not User.objects.exists()


def test_a_state_of_another_browser_is_refused(client: Client, github: None) -> None:
    state = query_of(onward(Client().post(START)))["state"]
    assert client.get(CALLBACK, {"code": "a code", "state": state}).status_code == 403
