"""Connections that the server opens on behalf of users: only to public addresses, checked on the socket itself.

A name is resolved once and the connection is made to the checked address, which prevents DNS rebinding. Private
networks can only be allowed by a setting.
"""

from __future__ import annotations

import socket
from collections.abc import Callable, Sequence
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Any

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network
Resolve = Callable[..., list[Any]]

NAT64 = IPv6Network("64:ff9b::/96")


class AddressRefused(Exception):
    """The address is not allowed; the message says which and why."""


def networks(texts: Sequence[str]) -> list[Network]:
    """Parses networks; raises `ValueError` for an invalid one."""
    return [ip_network(text, strict=False) for text in texts]


def may_call(text: str, allowed: Sequence[Network] = ()) -> bool:
    """Whether an address as returned by `getaddrinfo` is public or in an allowed network."""
    address = _plain(ip_address(text.partition("%")[0]))
    if any(address in network for network in allowed if network.version == address.version):
        return True
    site_local = isinstance(address, IPv6Address) and address.is_site_local
    return address.is_global and not (address.is_multicast or address.is_reserved or site_local)


def _plain(address: Address) -> Address:
    """The IPv4 address that an IPv6 address embeds, or the address itself."""
    if isinstance(address, IPv4Address):
        return address
    wrapped = address.ipv4_mapped or address.sixtofour or (address.teredo[1] if address.teredo else None)
    if wrapped is None and address in NAT64:
        wrapped = IPv4Address(int(address) & 0xFFFFFFFF)
    return wrapped or address


def connect(
    host: str,
    port: int,
    *,
    timeout: float,
    allowed: Sequence[Network] = (),
    resolve: Resolve = socket.getaddrinfo,
) -> socket.socket:
    """Opens a connection to `host`. Raises `AddressRefused`, or `OSError` if the host cannot be reached.

    A name is refused if any of its addresses is.
    """
    found = resolve(host, port, type=socket.SOCK_STREAM)
    for *_, address in found:
        _check(str(address[0]), allowed)
    problem: OSError = OSError(f"{host} has no address.")
    for family, kind, protocol, _, address in found[:4]:
        made = socket.socket(family, kind, protocol)
        made.settimeout(timeout)
        try:
            made.connect(address)
            _check(str(made.getpeername()[0]), allowed)
            return made
        except AddressRefused:
            made.close()
            raise
        except OSError as error:
            made.close()
            problem = error
    raise problem


def _check(text: str, allowed: Sequence[Network]) -> None:
    if not may_call(text, allowed):
        raise AddressRefused(
            f"{text} is not on the public internet. An administrator can allow its network with "
            "STARBOARD_WEBHOOK_NETWORKS."
        )
