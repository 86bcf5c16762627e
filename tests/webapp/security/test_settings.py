"""The settings that result from the environment, read in a process of their own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

REPOSITORY = Path(__file__).resolve().parents[3]
pytestmark = pytest.mark.slow


def read(names: list[str], tmp_path: Path, **environment: str) -> dict[str, Any]:
    done = run(names, tmp_path, **environment)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def run(names: list[str], tmp_path: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    code = (
        "import json; from webapp import settings as s; "
        f"print(json.dumps({{n: getattr(s, n) for n in {names!r}}}, default=sorted))"
    )
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("STARBOARD_", "SECRET_KEY"))}
    return subprocess.run(
        [sys.executable, "-c", code],
        cwd=REPOSITORY,
        env={**clean, "STARBOARD_DATA_DIR": str(tmp_path / "data"), **environment},
        capture_output=True,
        text=True,
        check=False,
    )


def test_two_installations_on_one_host_have_cookies_of_their_own_also_with_the_same_port(tmp_path: Path) -> None:
    names = ["SESSION_COOKIE_NAME", "CSRF_COOKIE_NAME"]
    first, second = (read(names, tmp_path / name, PORT="8000") for name in ("first", "second"))
    assert not set(first.values()) & set(second.values())
    assert read(names, tmp_path / "first", PORT="8001") == first, "another port signs nobody out"


def test_debug_is_off_and_the_secret_is_created_once_readable_only_by_its_owner(tmp_path: Path) -> None:
    first = read(["DEBUG", "SECRET_KEY"], tmp_path)
    assert first["DEBUG"] is False
    assert len(first["SECRET_KEY"]) >= 64
    file = tmp_path / "data" / "secret_key"
    assert file.stat().st_mode & 0o777 == 0o600
    assert read(["SECRET_KEY"], tmp_path)["SECRET_KEY"] == first["SECRET_KEY"]


def test_cookies_require_tls_if_every_origin_does(tmp_path: Path) -> None:
    names = ["SESSION_COOKIE_SECURE", "CSRF_COOKIE_SECURE", "SESSION_COOKIE_HTTPONLY", "CSRF_COOKIE_HTTPONLY"]
    assert list(read(names, tmp_path).values()) == [False, False, True, True]
    over_tls = read([*names, "SECURE_HSTS_SECONDS"], tmp_path, STARBOARD_ORIGINS="https://a.example")
    assert list(over_tls.values()) == [True, True, True, True, 30 * 24 * 3600]


def test_hosts_are_derived_from_origins(tmp_path: Path) -> None:
    found = read(["TRUSTED_HOSTS", "ALLOWED_HOSTS"], tmp_path, STARBOARD_ORIGINS="https://a.example", PORT="8001")
    loopback = ["127.0.0.1:8001", "[::1]:8001", "a.example:443", "localhost:8001"]
    assert sorted(found["TRUSTED_HOSTS"]) == loopback
    assert found["ALLOWED_HOSTS"] == ["127.0.0.1", "[::1]", "a.example", "localhost"]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("PORT", "eighty"),
        ("PORT", "0"),
        ("STARBOARD_DEBUG", "perhaps"),
        ("STARBOARD_MAX_PARALLEL_RUNS", "-1"),
        ("STARBOARD_ORIGINS", "starboard.example.org"),
        ("STARBOARD_ORIGINS", "https://a.example/path"),
        ("STARBOARD_HOSTS", "a.example:port"),
    ],
)
def test_an_invalid_value_is_named(name: str, value: str, tmp_path: Path) -> None:
    done = run(["PORT"], tmp_path, **{name: value})
    assert done.returncode != 0
    last = done.stderr.strip().splitlines()[-1]
    assert name in last
    assert repr(value) in last


def test_prices_are_amounts_or_unset(tmp_path: Path) -> None:
    names = ["GPU_HOUR_PRICE", "CPU_HOUR_PRICE", "CURRENCY"]
    found = read(names, tmp_path, STARBOARD_GPU_HOUR_PRICE="2.50", STARBOARD_CURRENCY="EUR")
    assert found == {"GPU_HOUR_PRICE": 2.5, "CPU_HOUR_PRICE": None, "CURRENCY": "EUR"}
    for nonsense in ("cheap", "-1", "nan"):
        refused = run(names, tmp_path, STARBOARD_GPU_HOUR_PRICE=nonsense)
        assert "STARBOARD_GPU_HOUR_PRICE" in refused.stderr
        assert "such as 2.50" in refused.stderr


def test_django_s_own_check_of_a_deployment_finds_nothing_with_the_documented_settings(tmp_path: Path) -> None:
    documented = {
        "SECRET_KEY": "k" * 25 + "0123456789abcdefghijklmnopqrstuvwxyz",
        "STARBOARD_BIND": "0.0.0.0",
        "STARBOARD_ORIGINS": "https://starboard.example.org",
        "STARBOARD_TRUSTED_PROXIES": "10.0.0.0/8",
        "REDIS_URL": "redis://:password@redis:6379/0",
    }
    clean = {name: value for name, value in os.environ.items() if not name.startswith("STARBOARD_")}
    done = subprocess.run(
        [sys.executable, "manage.py", "check", "--deploy", "--fail-level", "WARNING"],
        cwd=REPOSITORY,
        env={**clean, "STARBOARD_DATA_DIR": str(tmp_path / "data"), **documented},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "no issues (2 silenced)" in done.stdout + done.stderr
