"""How hosts and origins are written in settings; invalid ones are refused naming the variable."""

from __future__ import annotations

import pytest
from django.core.exceptions import ImproperlyConfigured

from webapp.security.authorities import authority, origin, trusted_hosts, trusted_origins


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("lab.example", "lab.example:443"),
        ("lab.example:8443", "lab.example:8443"),
        ("LAB.example", "lab.example:443"),
        ("[::1]:8000", "[::1]:8000"),
        ("[::1]", "[::1]:443"),
    ],
)
def test_hosts_are_compared_in_lower_case_with_their_port(written: str, read: str) -> None:
    assert authority(written, 443) == read


def test_an_origin_without_a_port_has_its_scheme_s_default() -> None:
    assert origin("https://lab.example") == "https://lab.example:443"
    assert origin("http://lab.example") == "http://lab.example:80"


def test_trusted_origins_are_loopback_on_our_port_and_the_configured_ones() -> None:
    assert trusted_origins(8000, ["https://lab.example"]) == {
        "http://127.0.0.1:8000",
        "http://localhost:8000",
        "http://[::1]:8000",
        "https://lab.example:443",
    }


@pytest.mark.parametrize(
    "given", ["lab.example", "*", "https://*", "https://lab.example/runs", "ftp://lab.example", "null", "https://"]
)
def test_an_invalid_origin_is_refused_naming_the_variable(given: str) -> None:
    with pytest.raises(ImproperlyConfigured, match="STARBOARD_ORIGINS"):
        trusted_origins(8000, [given])


@pytest.mark.parametrize("given", ["*", "*.lab.example", "lab.example/", "lab example", "https://lab.example", "a,b"])
def test_an_invalid_host_is_refused_naming_the_variable(given: str) -> None:
    with pytest.raises(ImproperlyConfigured, match="STARBOARD_HOSTS"):
        trusted_hosts(8000, [given], [])
