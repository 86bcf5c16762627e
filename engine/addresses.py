"""Network addresses: which are of this machine, and which are plain enough to be configured."""

from __future__ import annotations

from ipaddress import ip_address


def is_this_machine(host: str) -> bool:
    """Whether nothing that is sent there leaves the machine."""
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


def plain_address(given: str) -> str:
    """The http(s) address without a final slash; empty if it is none, or has a user name, password or query."""
    import httpx2  # only where a server is called

    try:
        address = httpx2.URL(given.strip())
    except httpx2.InvalidURL:
        return ""
    if address.scheme not in ("http", "https") or not address.host or address.userinfo or address.query:
        return ""
    return str(address).rstrip("/")
