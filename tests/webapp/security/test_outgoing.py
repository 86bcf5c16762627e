"""Which addresses the server calls on behalf of its users: only public ones, however they are spelled."""

from __future__ import annotations

import socket
from typing import Any

import pytest

from webapp.security.outgoing import AddressRefused, connect, may_call, networks

LOCAL = [
    "127.0.0.1", "127.8.8.8", "0.0.0.0", "10.1.2.3", "172.16.0.1", "192.168.1.1", "169.254.169.254", "100.64.0.1",
    "224.0.0.1", "240.0.0.1", "255.255.255.255", "198.18.0.1", "192.0.2.1",
    "::1", "::", "fe80::1", "fe80::1%eth0", "fc00::1", "fec0::1", "ff02::1", "2001:db8::1",
    "::ffff:127.0.0.1", "::ffff:10.0.0.1", "::127.0.0.1", "64:ff9b::7f00:1", "2002:7f00:1::", "2002:a00:1::1",
]  # fmt: skip


@pytest.mark.parametrize("address", LOCAL)
def test_addresses_that_are_not_public_are_not_called(address: str) -> None:
    assert not may_call(address)


@pytest.mark.parametrize("address", ["93.184.216.34", "1.1.1.1", "2606:4700:4700::1111", "::ffff:1.1.1.1"])
def test_public_addresses_are_called(address: str) -> None:
    assert may_call(address)


def test_a_setting_allows_exactly_one_network() -> None:
    allowed = networks(["10.0.0.0/8", "::1"])
    assert may_call("10.200.0.1", allowed)
    assert may_call("::ffff:10.200.0.1", allowed)
    assert may_call("::1", allowed)
    assert not may_call("192.168.1.1", allowed)
    assert not may_call("127.0.0.1", allowed)


@pytest.mark.parametrize("host", ["127.0.0.1", "2130706433", "0x7f000001", "0177.0.0.1", "127.1", "localhost", "::1"])
def test_loopback_by_any_name_is_refused_before_a_connection_is_made(host: str) -> None:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        listener.settimeout(0.05)
        with pytest.raises((AddressRefused, socket.gaierror)):
            connect(host, listener.getsockname()[1], timeout=1.0)
        with pytest.raises(TimeoutError):
            listener.accept()


def answering(*answers: list[str]) -> Any:
    """A resolver that gives another answer to each query, as a hostile name server does."""
    left = list(answers)

    def resolve(host: str, port: int, **_: Any) -> list[Any]:
        addresses = left.pop(0) if len(left) > 1 else left[0]
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port)) for address in addresses]

    return resolve


def test_a_name_with_one_private_address_among_its_addresses_is_refused() -> None:
    with pytest.raises(AddressRefused, match=r"10\.0\.0\.7 is not on the public internet"):
        connect("two.example", 443, timeout=0.2, resolve=answering(["93.184.216.34", "10.0.0.7"]))


def test_a_name_is_resolved_once_which_prevents_dns_rebinding() -> None:
    """The first answer is allowed by a setting, and the connection goes there; there is no second query."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        resolve = answering(["127.0.0.1"], ["169.254.169.254"])
        allowed = networks(["127.0.0.1/32"])
        with connect(
            "rebinding.example", listener.getsockname()[1], timeout=1.0, allowed=allowed, resolve=resolve
        ) as line:
            assert line.getpeername()[0] == "127.0.0.1"


def test_a_name_that_becomes_private_is_refused_at_the_next_call() -> None:
    resolve = answering(["127.0.0.1"])
    with pytest.raises(AddressRefused):
        connect("turned.example", 443, timeout=0.2, resolve=resolve)
