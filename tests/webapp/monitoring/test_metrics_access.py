"""Who may read `/metrics`: clients that each of the two settings admits, and nobody if neither is set."""

from __future__ import annotations

import pytest
from django.http import Http404
from django.test import RequestFactory
from pytest_django import Settings

from webapp.monitoring.metrics import refusal

TOKEN = "a token of the monitoring"


def status(address: str = "127.0.0.1", token: str = "", forwarded: str = "") -> int:
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    if forwarded:
        headers["X-Forwarded-For"] = forwarded
    refused = refusal(RequestFactory().get("/metrics", headers=headers, REMOTE_ADDR=address))
    return 200 if refused is None else refused.status_code


def allow(settings: Settings, *, token: str = "", networks: list[str] | None = None) -> None:
    settings.STARBOARD_METRICS_TOKEN, settings.STARBOARD_METRICS_NETWORKS = token, networks or []


def test_nobody_without_a_setting(settings: Settings) -> None:
    allow(settings)
    with pytest.raises(Http404, match="STARBOARD_METRICS_TOKEN"):
        status(token=TOKEN)


def test_a_token_has_to_be_the_right_one(settings: Settings) -> None:
    allow(settings, token=TOKEN)
    assert [status(), status(token="another"), status(token="ä"), status(token=TOKEN)] == [401, 401, 401, 200]


def test_an_address_has_to_be_in_one_of_the_networks(settings: Settings) -> None:
    allow(settings, networks=["10.0.0.0/8", "fd00::/8"])
    assert [status("10.1.2.3"), status("fd00::1"), status("11.1.2.3"), status("")] == [200, 200, 403, 403]


def test_with_both_settings_both_have_to_admit(settings: Settings) -> None:
    allow(settings, token=TOKEN, networks=["10.0.0.0/8"])
    assert [status("10.1.2.3"), status("11.1.2.3", TOKEN), status("10.1.2.3", TOKEN)] == [401, 403, 200]


def test_a_forged_address_admits_nobody_unless_a_trusted_proxy_says_so(settings: Settings) -> None:
    allow(settings, networks=["10.0.0.0/8"])
    assert status("127.0.0.1", forwarded="10.1.2.3") == 403
    settings.STARBOARD_TRUSTED_PROXIES = ["127.0.0.0/8"]
    assert status("127.0.0.1", forwarded="10.1.2.3") == 200
