"""The notifications page: what is saved, what a test reports, and secrets that are shown once."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from pytest_django import Settings

from tests.hostile import short
from tests.webapp.alerts.receivers import webhook_receiver
from tests.webapp.security.page_reader import read_page
from webapp.alerts.models import Delivery, DeliveryAttempt, NotificationSettings, Webhook
from webapp.alerts.webhooks import secret_of

URL = "/settings/notifications/"


def do(browser: Client, action: str, **values: Any) -> Any:
    return browser.post(URL, {"action": action, **values})


def test_the_choice_of_runs_severity_and_mail_is_saved(browser: Client, user: User) -> None:
    chosen = {"scope": "all", "least_severity": "critical", "run_events": "ended", "endings": "none"}
    chosen |= {"email": "ada@lab.example", "email_on": "on"}
    assert do(browser, "save", **chosen).status_code == 302
    kept = NotificationSettings.objects.get(user=user)
    assert (kept.scope, kept.least_severity, kept.email, kept.email_on) == ("all", "critical", "ada@lab.example", True)


@pytest.mark.parametrize("email", ["", "no address", "a@b\r\nBcc: x@y.example"])
def test_mail_needs_an_address(browser: Client, email: str) -> None:
    answer = do(browser, "save", scope="all", least_severity="warn", email=email, email_on="on")
    assert answer.status_code == 422
    assert NotificationSettings.objects.count() == 0


def test_a_secret_is_shown_once_on_creation(browser: Client) -> None:
    answer = do(browser, "add", url="https://example.org/hook")
    webhook = Webhook.objects.get()
    secret = secret_of(webhook)
    assert secret in answer.content.decode()
    assert secret not in browser.get(URL).content.decode()
    renewed = do(browser, "renew", webhook=webhook.pk).content.decode()
    webhook.refresh_from_db()
    assert secret not in renewed
    assert secret_of(webhook) in renewed


def test_a_forbidden_address_is_refused_with_the_reason(browser: Client, settings: Settings) -> None:
    settings.STARBOARD_WEBHOOK_NETWORKS = []
    answer = do(browser, "add", url="http://169.254.169.254/")
    assert answer.status_code == 422
    assert "without TLS" in answer.content.decode()
    assert Webhook.objects.count() == 0


def test_a_test_reports_whether_it_was_delivered(browser: Client, loopback: None) -> None:
    with webhook_receiver(answers=[200, 500]) as inbox:
        do(browser, "add", url=inbox.url)
        key = Webhook.objects.get().pk
        do(browser, "test_webhook", webhook=key)
        assert "Test delivered to" in browser.get(URL).content.decode()
        do(browser, "test_webhook", webhook=key)
        page = browser.get(URL).content.decode()
    assert "The test could not be delivered. It answered 500." in page
    assert page.count("<td>test</td>") >= 2
    assert [one.state for one in Delivery.objects.all()] == ["failed", "sent"]


def test_webhooks_can_be_disabled_and_removed(browser: Client) -> None:
    do(browser, "add", url="https://example.org/hook")
    webhook = Webhook.objects.get()
    do(browser, "switch", webhook=webhook.pk)
    webhook.refresh_from_db()
    assert webhook.on is False
    do(browser, "remove", webhook=webhook.pk)
    assert Webhook.objects.count() == 0


def test_users_cannot_use_webhooks_or_see_deliveries_of_others(browser: Client, db: None) -> None:
    eve = User.objects.create_user("eve")
    theirs = Webhook.objects.create(user=eve, url="https://eve.example/hook")
    Delivery.objects.create(user=eve, channel="email:1", target="eve@example.org", message_id="msg_eve")
    for action in ("renew", "switch", "remove", "test_webhook"):
        assert do(browser, action, webhook=theirs.pk).status_code == 302
    theirs.refresh_from_db()
    assert theirs.on is True
    page = browser.get(URL).content.decode()
    assert "eve@example.org" not in page and "eve.example" not in page


@pytest.mark.parametrize("key", ["", "x", "-1", "9" * 30, "１"])
def test_an_unknown_webhook_is_reported(browser: Client, key: str) -> None:
    do(browser, "remove", webhook=key)
    assert "This webhook does not exist." in browser.get(URL).content.decode()


def test_hostile_text_is_escaped(browser: Client, user: User) -> None:
    for number, text in enumerate(short(200)):
        if "\0" in text:
            continue
        Webhook.objects.create(user=user, url=text, on=False, off_reason=text[:200])
        delivery = Delivery.objects.create(user=user, channel=f"x:{number}", target=text, message_id=f"msg_{number}")
        DeliveryAttempt.objects.create(delivery=delivery, number=1, seconds=0.1, error=text)
    assert read_page(browser.get(URL).content.decode()).dangers == []
