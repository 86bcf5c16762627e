"""Which addresses are of this machine, and which are plain."""

from __future__ import annotations

import pytest

from engine.addresses import is_this_machine, plain_address


@pytest.mark.parametrize(
    ("host", "here"),
    [
        ("127.0.0.1", True),
        ("127.8.0.1", True),
        ("::1", True),
        ("localhost", True),
        ("10.0.0.5", False),
        ("0.0.0.0", False),
        ("head", False),
        ("127.0.0.1.example.com", False),
    ],
)
def test_loopback_addresses_are_recognised(host: str, here: bool) -> None:
    assert is_this_machine(host) == here


def test_a_plain_address_has_nothing_but_scheme_host_and_path() -> None:
    assert plain_address(" https://h:8000/v1/ ") == "https://h:8000/v1"
    for other in ("h:8000", "ftp://h", "http://", "http://user:secret@h", "http://h?x=1", "http://h:port", ""):
        assert plain_address(other) == ""
