"""Whose address counts: the connection's, or the one that a trusted proxy saw."""

from __future__ import annotations

import pytest
from django.test import RequestFactory
from pytest_django import Settings

from webapp.security.client_address import client_address

PROXY = "172.18.0.4"


@pytest.mark.parametrize(
    ("connection", "forwarded", "expected"),
    [
        ("203.0.113.7", "", "203.0.113.7"),
        ("203.0.113.7", "198.51.100.1", "203.0.113.7"),  # no proxy of ours: anyone can send the header
        (PROXY, "198.51.100.1", "198.51.100.1"),
        (PROXY, "10.9.9.9, 198.51.100.1", "198.51.100.1"),  # what the client sent itself comes first
        (PROXY, "198.51.100.1, 172.18.0.9", "198.51.100.1"),  # two proxies
        (PROXY, "", PROXY),
        (PROXY, "nonsense", "nonsense"),
        (PROXY, "2001:db8::1", "2001:db8::1"),
    ],
)
def test_the_client_is_the_last_address_that_no_trusted_proxy_has(
    settings: Settings, connection: str, forwarded: str, expected: str
) -> None:
    settings.STARBOARD_TRUSTED_PROXIES = ["172.16.0.0/12"]
    request = RequestFactory().get("/", REMOTE_ADDR=connection, HTTP_X_FORWARDED_FOR=forwarded)
    assert client_address(request) == expected
