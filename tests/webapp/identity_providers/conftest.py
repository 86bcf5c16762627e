"""A provider that runs, and the site configured for it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from django.core.cache import cache
from pytest_django import Settings

from tests.webapp.identity_providers.openid_server import CLIENT, SECRET, OpenIdServer, an_openid_server
from webapp.identity_providers.configuration import OPENID, Admission, IdentityProvider


@pytest.fixture
def provider(settings: Settings) -> Iterator[OpenIdServer]:
    cache.clear()
    with an_openid_server() as running:
        settings.STARBOARD_IDENTITY_PROVIDERS = {
            OPENID: IdentityProvider(
                key=OPENID,
                name="Example SSO",
                client_id=CLIENT,
                client_secret=SECRET,
                issuer=running.issuer,
                scopes=("openid", "profile", "email"),
            )
        }
        settings.STARBOARD_ADMISSION = Admission()
        yield running
    cache.clear()


def configure(settings: Settings, **changes: Any) -> None:
    known = settings.STARBOARD_IDENTITY_PROVIDERS[OPENID]
    settings.STARBOARD_IDENTITY_PROVIDERS = {OPENID: replace(known, **changes)}
