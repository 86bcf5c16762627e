"""The address of the client of a request, also behind proxies that are trusted."""

from __future__ import annotations

from ipaddress import ip_address, ip_network

from django.conf import settings
from django.http import HttpRequest


def client_address(request: HttpRequest) -> str:
    """The address of the connection. If that is one of `STARBOARD_TRUSTED_PROXIES`, the last address in its
    X-Forwarded-For that is none of them: those before it can be made up by the client."""
    address = str(request.META.get("REMOTE_ADDR") or "")
    forwarded = [one.strip() for one in request.META.get("HTTP_X_FORWARDED_FOR", "").split(",") if one.strip()]
    while forwarded and _is_trusted(address):
        address = forwarded.pop()
    return address


def _is_trusted(address: str) -> bool:
    try:
        parsed = ip_address(address)
    except ValueError:
        return False
    return any(parsed in ip_network(network, strict=False) for network in settings.STARBOARD_TRUSTED_PROXIES)
