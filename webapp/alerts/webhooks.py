"""Signed messages to addresses that users give, after Standard Webhooks (standardwebhooks.com).

Only the status of a response is read: no redirect is followed, no body is shown to anyone.
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import hmac
import socket
import ssl
import threading
import time
from dataclasses import dataclass
from urllib.parse import quote, urlsplit

from django.conf import settings

from webapp.alerts.models import Webhook
from webapp.security.outgoing import AddressRefused, Network, connect, may_call, networks

SECONDS = 10.0
LONGEST_HEAD = 16 * 1024
GONE = 410


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """`error` is the reason of a failure; `status` is None if there was no response."""

    status: int | None = None
    error: str = ""


def secret_of(webhook: Webhook) -> str:
    """`whsec_…`, 32 bytes, from the site's secret and the webhook's nonce."""
    material = f"webhook {webhook.pk} {webhook.nonce}".encode()
    key = hmac.new(settings.SECRET_KEY.encode(), material, hashlib.sha256).digest()
    return f"whsec_{base64.b64encode(key).decode()}"


def signature(secret: str, message_id: str, timestamp: int, body: bytes) -> str:
    key = base64.b64decode(secret.removeprefix("whsec_"))
    signed = hmac.new(key, f"{message_id}.{timestamp}.".encode() + body, hashlib.sha256).digest()
    return f"v1,{base64.b64encode(signed).decode()}"


def why_no_address(url: str) -> str:
    """The problem with an address that can be known before a call; empty if there is none."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        return f"This is not an address: {error}."
    if parts.scheme not in ("https", "http") or not parts.hostname:
        return "Give an address that begins with https://."
    if parts.username is not None or parts.password is not None:
        return "An address with a name or password in it is not called: the signature identifies the sender."
    if any(ord(letter) < 33 or ord(letter) > 126 for letter in url):
        return "Write the address in plain ASCII, without spaces."
    if port == 0:
        return "There is no port 0."
    if parts.scheme == "http" and not _own_networks():
        return "Give an https address: without TLS anyone on the way can read the alerts."
    return ""


def send(url: str, secret: str, message_id: str, body: bytes, *, seconds: float = SECONDS) -> Answer:
    """Posts `body` once. All of it takes at most `seconds`, however slow the receiver is."""
    if problem := why_no_address(url):
        return Answer(error=problem)
    parts = urlsplit(url)
    host, secure = str(parts.hostname), parts.scheme == "https"
    try:
        line = connect(host, parts.port or (443 if secure else 80), timeout=seconds, allowed=_own_networks())
    except AddressRefused as refusal:
        return Answer(error=str(refusal))
    except (OSError, UnicodeError) as error:
        return Answer(error=f"{host} cannot be reached: {error}.")
    with line:
        if not secure and not _is_own(line):
            return Answer(error="Only addresses of the site's own networks are called without TLS.")
        if secure:
            line = ssl.create_default_context().wrap_socket(line, server_hostname=host, do_handshake_on_connect=False)
        watchdog = threading.Timer(seconds, _cut, [line])
        watchdog.start()
        try:
            if isinstance(line, ssl.SSLSocket):
                line.do_handshake()
            line.sendall(_request(url, secret, message_id, body))
            return _answer(_status_line(line))
        except TimeoutError:
            return Answer(error=f"No answer within {seconds:g} seconds.")
        except OSError as error:
            late = not watchdog.is_alive()
            return Answer(
                error=f"No answer within {seconds:g} seconds." if late else f"The connection broke off: {error}."
            )
        finally:
            watchdog.cancel()
            line.close()


def _request(url: str, secret: str, message_id: str, body: bytes) -> bytes:
    parts = urlsplit(url)
    path = quote(parts.path or "/", safe="/%:=@!$&'()*+,;~-._") + (f"?{parts.query}" if parts.query else "")
    timestamp = int(time.time())
    head = [
        f"POST {path} HTTP/1.1",
        f"Host: {parts.netloc}",
        "User-Agent: Starboard",
        "Content-Type: application/json",
        f"Content-Length: {len(body)}",
        f"webhook-id: {message_id}",
        f"webhook-timestamp: {timestamp}",
        f"webhook-signature: {signature(secret, message_id, timestamp, body)}",
        "Connection: close",
    ]
    return "\r\n".join([*head, "", ""]).encode("ascii") + body


def _status_line(line: socket.socket) -> bytes:
    received = b""
    while b"\n" not in received and len(received) < LONGEST_HEAD:
        part = line.recv(1024)
        if not part:
            break
        received += part
    return received.partition(b"\n")[0]


def _answer(status_line: bytes) -> Answer:
    parts = status_line.split(None, 2)
    if len(parts) < 2 or not parts[0].startswith(b"HTTP/1.") or not parts[1].isdigit() or len(parts[1]) != 3:
        return Answer(error="The response was not HTTP.")
    status = int(parts[1])
    if 200 <= status < 300:
        return Answer(status=status)
    if 300 <= status < 400:
        return Answer(status=status, error=f"It answered {status}; redirects are not followed. Give the new address.")
    return Answer(status=status, error=f"It answered {status}.")


def _cut(line: socket.socket) -> None:
    """Wakes up everything that waits on the connection. TLS's own shutdown would wait for the receiver."""
    with contextlib.suppress(OSError):  # already closed
        socket.socket.shutdown(line, socket.SHUT_RDWR)


def _own_networks() -> list[Network]:
    return networks(settings.STARBOARD_WEBHOOK_NETWORKS)


def _is_own(line: socket.socket) -> bool:
    """Whether the receiver is in a network that a setting allows, rather than merely public."""
    peer = str(line.getpeername()[0])
    return not may_call(peer) and may_call(peer, _own_networks())
