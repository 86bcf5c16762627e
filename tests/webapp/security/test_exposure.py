"""Which installations may listen on other interfaces: only those configured for it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from django.core.exceptions import ImproperlyConfigured
from pytest_django import Settings

from webapp.security.exposure import missing, refuse_careless_exposure

REPOSITORY = Path(__file__).resolve().parents[3]
CAREFUL = {
    "SECRET_KEY_GIVEN": "k" * 50,
    "STARBOARD_EXTRA_ORIGINS": ["https://starboard.example.org"],
    "STARBOARD_TRUSTED_PROXIES": ["172.16.0.0/12"],
    "REDIS_URL": "redis://:secret@redis:6379/0",
    "STARBOARD_SIGN_IN_LINKS": False,
    "DEBUG": False,
}


def listen(settings: Settings, address: str, **changed: object) -> None:
    settings.STARBOARD_BIND = address
    for name, value in {**CAREFUL, **changed}.items():
        setattr(settings, name, value)


@pytest.mark.parametrize("address", ["127.0.0.1", "127.8.9.1", "::1", "[::1]", "localhost"])
def test_loopback_needs_no_settings(address: str, settings: Settings) -> None:
    listen(settings, address, SECRET_KEY_GIVEN="", STARBOARD_EXTRA_ORIGINS=[], STARBOARD_SIGN_IN_LINKS=True)
    assert missing() == []


@pytest.mark.parametrize("address", ["0.0.0.0", "::", "192.168.1.5", "example.org", "127.0.0.1.evil.example", ""])
def test_everything_else_is_not_loopback(address: str, settings: Settings) -> None:
    listen(settings, address, SECRET_KEY_GIVEN="")
    assert missing() != []


@pytest.mark.parametrize(
    ("changed", "named"),
    [
        ({"SECRET_KEY_GIVEN": ""}, "SECRET_KEY is not set"),
        ({"SECRET_KEY_GIVEN": "k" * 49}, "SECRET_KEY is too short"),
        ({"STARBOARD_EXTRA_ORIGINS": []}, "STARBOARD_ORIGINS"),
        ({"STARBOARD_SIGN_IN_LINKS": True}, "STARBOARD_SIGN_IN_LINKS=0"),
        ({"DEBUG": True}, "STARBOARD_DEBUG"),
        ({"STARBOARD_EXTRA_ORIGINS": ["http://starboard.example.org"]}, "STARBOARD_ORIGINS has an http:// URL"),
        ({"STARBOARD_TRUSTED_PROXIES": []}, "STARBOARD_TRUSTED_PROXIES is not set"),
        ({"REDIS_URL": "redis://redis:6379/0"}, "REDIS_URL is on another machine and has no password"),
        ({"REDIS_URL": "redis://someone@10.0.0.5/0"}, "REDIS_URL is on another machine and has no password"),
    ],
)
def test_each_missing_setting_is_named(changed: dict[str, object], named: str, settings: Settings) -> None:
    listen(settings, "0.0.0.0", **changed)
    with pytest.raises(ImproperlyConfigured, match=named):
        refuse_careless_exposure()


@pytest.mark.parametrize(
    "redis", ["redis://:secret@redis:6379/0", "unix:///data/redis/socket", "redis://127.0.0.1:6379/0", "memory://"]
)
def test_a_secured_installation_may_listen(redis: str, settings: Settings) -> None:
    listen(settings, "0.0.0.0", REDIS_URL=redis)
    refuse_careless_exposure()


@pytest.mark.slow
def test_the_site_refuses_before_it_binds_the_port(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "workers.launch.web"],
        cwd=REPOSITORY,
        env={**os.environ, "STARBOARD_DATA_DIR": str(tmp_path), "STARBOARD_BIND": "0.0.0.0", "PORT": "8765"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 1
    assert "STARBOARD_BIND=0.0.0.0 accepts connections from other machines" in done.stderr
    assert "Traceback" not in done.stderr
