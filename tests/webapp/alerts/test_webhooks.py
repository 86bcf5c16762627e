"""Webhooks against a real server on loopback: signature, limits, and what is never followed or shown."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import time

import pytest
from django.contrib.auth.models import User
from pytest_django import Settings

from tests.webapp.alerts.receivers import webhook_receiver
from webapp.alerts.models import Webhook
from webapp.alerts.webhooks import secret_of, send, signature, why_no_address

BODY = b'{"type":"test"}'
SECRET = "whsec_" + base64.b64encode(b"k" * 32).decode()


def verified(secret: str, headers: dict[str, str], body: bytes) -> bool:
    """As a receiver verifies it by the standard: HMAC-SHA256 of `id.timestamp.body` under the decoded secret."""
    signed = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.".encode() + body
    mine = hmac.new(base64.b64decode(secret[6:]), signed, hashlib.sha256).digest()
    return headers["webhook-signature"] == "v1," + base64.b64encode(mine).decode()


def test_the_signature_follows_standard_webhooks() -> None:
    # the example of the Standard Webhooks specification
    secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
    body = b'{"test": 2432232314}'
    expected = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
    assert signature(secret, "msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330, body) == expected


def test_a_receiver_can_verify_the_signature(loopback: None) -> None:
    with webhook_receiver() as inbox:
        answer = send(inbox.url, SECRET, "msg_1", BODY)
    assert (answer.status, answer.error) == (204, "")
    [(path, headers, body)] = inbox.got
    assert (path, headers["content-type"], headers["webhook-id"]) == ("/hook?a=b", "application/json", "msg_1")
    assert abs(int(headers["webhook-timestamp"]) - time.time()) < 60
    assert verified(SECRET, headers, body)
    assert not verified(SECRET, headers, body + b" ")
    assert not verified(SECRET, {**headers, "webhook-timestamp": "1"}, body)


def test_loopback_is_not_called_unless_a_setting_allows_it(settings: Settings) -> None:
    settings.STARBOARD_WEBHOOK_NETWORKS = ["10.0.0.0/8"]
    with webhook_receiver() as inbox:
        answer = send(inbox.url, SECRET, "msg_1", BODY)
    assert "127.0.0.1 is not on the public internet" in answer.error
    assert inbox.got == []


def test_redirects_are_reported_and_not_followed(loopback: None) -> None:
    with webhook_receiver(answers=[302]) as inbox:
        answer = send(inbox.url, SECRET, "msg_1", BODY)
    assert (answer.status, len(inbox.got)) == (302, 1)
    assert "redirects are not followed" in answer.error
    assert "169.254" not in answer.error


def test_the_response_body_is_not_shown(loopback: None) -> None:
    with webhook_receiver(answers=[500]) as inbox:
        answer = send(inbox.url, SECRET, "msg_1", BODY)
    assert (answer.status, answer.error) == (500, "It answered 500.")


@pytest.mark.parametrize("manner", ["drip", "flood"])
def test_an_endless_response_is_cut_off(loopback: None, manner: str) -> None:
    began = time.monotonic()
    with webhook_receiver(manner=manner) as inbox:
        answer = send(inbox.url, SECRET, "msg_1", BODY, seconds=1.0)
        took = time.monotonic() - began
    assert answer.status is None
    assert answer.error
    assert took < 10


def test_connection_failures_are_described(loopback: None) -> None:
    answer = send("http://127.0.0.1:9/", SECRET, "msg_1", BODY)
    assert "cannot be reached" in answer.error


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("ftp://example.org", "begins with https"),
        ("file:///etc/passwd", "begins with https"),
        ("https://", "begins with https"),
        ("example.org", "begins with https"),
        ("https://ada:secret@example.org", "name or password"),
        ("https://example.org/a b", "plain ASCII"),
        ("https://example.org/\r\nX: y", "plain ASCII"),
        ("https://ex\u00e4mple.org", "plain ASCII"),
        ("https://example.org:99999", "not an address"),
        ("http://example.org", "without TLS"),
    ],
)
def test_forbidden_addresses_are_refused_at_once(settings: Settings, url: str, reason: str) -> None:
    settings.STARBOARD_WEBHOOK_NETWORKS = []
    assert reason in why_no_address(url)


def test_each_webhook_has_its_own_secret_which_the_database_alone_does_not_reveal(
    user: User, settings: Settings
) -> None:
    one, other = (Webhook.objects.create(user=user, url="https://example.org") for _ in range(2))
    first = secret_of(one)
    assert first.startswith("whsec_") and len(base64.b64decode(first[6:])) == 32
    assert first == secret_of(Webhook.objects.get(pk=one.pk))
    assert first != secret_of(other)
    assert first not in json.dumps(list(Webhook.objects.values()), default=str)
    settings.SECRET_KEY = "another"
    assert secret_of(one) != first
