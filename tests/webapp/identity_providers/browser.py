"""A browser that follows a sign-in from our page to the provider's and back."""

from __future__ import annotations

import html
import re
from typing import Any
from urllib.parse import parse_qs, urlsplit

import requests
from django.http import HttpResponse
from django.test import Client

START, CALLBACK = "/accounts/sign-in-with/oidc/", "/accounts/sign-in-with/oidc/callback/"


def onward(answer: HttpResponse) -> str:
    """Where our page sends the browser."""
    found = re.search(r'http-equiv="refresh" content="0;url=([^"]+)"', answer.content.decode())
    assert found, answer.content.decode()
    return html.unescape(found[1])


def start(client: Client, **data: str) -> str:
    return onward(client.post(START, data))


def visit_provider(address: str) -> str:
    """Where the provider sends the browser back to, as a path of ours."""
    answer = requests.get(address, allow_redirects=False, timeout=10)
    assert answer.status_code == 302, answer.text
    back = urlsplit(answer.headers["Location"])
    return f"{back.path}?{back.query}"


def sign_in(client: Client, **data: str) -> Any:
    """The answer to the callback."""
    return client.get(visit_provider(start(client, **data)))


def query_of(address: str) -> dict[str, str]:
    return {name: values[0] for name, values in parse_qs(urlsplit(address).query).items()}


def signed_in_as(client: Client) -> str:
    """A username, or nothing."""
    answer = client.get("/account/")
    user = answer.context["request"].user if answer.context else None
    return user.get_username() if user is not None and user.is_authenticated else ""
