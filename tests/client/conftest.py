"""A client of a site that is served on a real port, with a token of one of its users."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from pytest_django import Settings

from starboard_client import Starboard
from tests.webapp.security.live_site import live_site
from webapp.accounts.models import Scope
from webapp.accounts.tokens import new_token


@pytest.fixture
def origin(transactional_db: None, settings: Settings, tmp_path: Path) -> Iterator[str]:
    settings.STARBOARD_DATA_DIR = tmp_path
    settings.RUNS_DIR = tmp_path / "runs"
    with live_site(settings) as opened:
        yield opened


@pytest.fixture
def token(origin: str) -> str:
    return new_token(User.objects.create_user("ada"), name="laptop", scopes=list(Scope), lifetime=timedelta(days=1))


@pytest.fixture
def shell(origin: str, token: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The environment of the command line; the folder of its configuration."""
    monkeypatch.setenv("STARBOARD_URL", origin)
    monkeypatch.setenv("STARBOARD_TOKEN", token)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    return tmp_path


@pytest.fixture
def starboard(origin: str, token: str) -> Iterator[Starboard]:
    with Starboard(origin, token) as connected:
        yield connected
