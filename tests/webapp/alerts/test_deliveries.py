"""Who is notified of an alert, exactly once; what is retried and when; and the text of a mail."""

from __future__ import annotations

import json
from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone
from pytest_django import Settings

from tests.builders.recorded_run import RecordedRun
from tests.webapp.alerts.receivers import mail_receiver, webhook_receiver
from tests.webapp.alerts.test_webhooks import verified
from webapp.alerts.deliveries import RETRIES, deliver_due, message_of
from webapp.alerts.models import Delivery, NotificationSettings, State, Webhook
from webapp.alerts.webhooks import secret_of
from webapp.runs.models import Run
from workers.rebuilding import rebuild

ALERT = {"rule": "entropy_fall", "severity": "warn", "message": "Again.", "metric": "policy/entropy", "value": 0.4}
STARTED = {"total_steps": 60, "pid": 1, "device": "cpu", "model": "tiny", "parameters": 1}
SMTP = "django.core.mail.backends.smtp.EmailBackend"


def set_preferences(user: User, **values: object) -> NotificationSettings:
    return NotificationSettings.objects.create(user=user, **{"scope": "all", **values})


def alerted(message: str = "It went wrong.") -> RecordedRun:
    recorded = RecordedRun(steps=60)
    recorded.take_steps(3)
    recorded.raise_alert(message)
    recorded.deliver()
    return recorded


def again_now(**changes: object) -> None:
    Delivery.objects.update(next_at=timezone.now() - timedelta(seconds=1), **changes)


def test_an_alert_is_sent_signed_to_each_webhook_with_a_link_to_its_evidence(user: User, loopback: None) -> None:
    set_preferences(user)
    with webhook_receiver() as inbox:
        webhook = Webhook.objects.create(user=user, url=inbox.url)
        recorded = alerted()
        assert deliver_due() == 1
        assert deliver_due() == 0
    [(_, headers, body)] = inbox.got
    assert verified(secret_of(webhook), headers, body)
    message = json.loads(body)
    seq = recorded.run.alerts.get().seq
    assert (message["type"], message["data"]["alert"]["message"]) == ("alert.raised", "It went wrong.")
    assert message["data"]["url"].endswith(f"/runs/{recorded.run.pk}/alerts/{seq}/")
    delivery = Delivery.objects.get()
    assert (delivery.state, delivery.attempts, delivery.message_id) == (State.SENT, 1, headers["webhook-id"])


def test_an_alert_read_twice_is_delivered_once(user: User) -> None:
    set_preferences(user, email="ada@example.org", email_on=True)
    Webhook.objects.create(user=user, url="https://example.org/hook")
    recorded = alerted()
    Run.objects.filter(pk=recorded.run.pk).update(event_offset=0, last_seq=0)
    recorded.deliver()
    assert sorted(Delivery.objects.values_list("channel", flat=True)) == [
        f"email:{user.pk}",
        f"webhook:{Webhook.objects.get().pk}",
    ]


def test_rebuilding_rows_sends_nothing(user: User) -> None:
    recorded = alerted()
    set_preferences(user, email="ada@example.org", email_on=True)
    rebuild(recorded.run.pk)
    assert recorded.run.alerts.count() == 1
    assert Delivery.objects.count() == 0


@pytest.mark.parametrize(
    ("scope", "least", "owner", "deliveries"),
    [
        ("mine", "warn", "other", 0),
        ("all", "warn", "other", 1),
        ("mine", "warn", "nobody", 1),
        ("mine", "warn", "ada", 1),
        ("mine", "critical", "ada", 0),
        ("mine", "watch", "ada", 1),
    ],
)
def test_users_are_notified_for_the_runs_and_severity_they_chose(
    user: User, scope: str, least: str, owner: str, deliveries: int
) -> None:
    set_preferences(user, scope=scope, least_severity=least, email="ada@example.org", email_on=True)
    recorded = RecordedRun()
    owners = {"ada": user, "other": User.objects.create_user("eve"), "nobody": None}
    Run.objects.filter(pk=recorded.run.pk).update(owner=owners[owner])
    recorded.raise_alert("It is a warning.")
    recorded.deliver()
    assert Delivery.objects.count() == deliveries


def test_a_failed_delivery_is_retried_later_with_the_same_id(user: User, loopback: None) -> None:
    set_preferences(user)
    with webhook_receiver(answers=[500, 503, 200]) as inbox:
        Webhook.objects.create(user=user, url=inbox.url)
        alerted()
        for expected in RETRIES[:2]:
            assert deliver_due() == 1
            assert deliver_due() == 0  # not before it is due
            wait = (Delivery.objects.get().next_at - timezone.now()).total_seconds()
            assert 0.75 * expected < wait < 1.25 * expected
            again_now()
        deliver_due()
    assert len({headers["webhook-id"] for _, headers, _ in inbox.got}) == 1
    delivery = Delivery.objects.get()
    assert (delivery.state, delivery.attempts) == (State.SENT, 3)
    assert [(one.number, one.status, one.error) for one in delivery.tries.order_by("number")] == [
        (1, 500, "It answered 500."),
        (2, 503, "It answered 503."),
        (3, 200, ""),
    ]


def test_a_delivery_is_given_up_after_the_last_attempt(user: User, loopback: None) -> None:
    set_preferences(user)
    with webhook_receiver(answers=[500]) as inbox:
        Webhook.objects.create(user=user, url=inbox.url)
        alerted()
        for _ in range(len(RETRIES) + 3):
            deliver_due()
            again_now()
    assert len(inbox.got) == len(RETRIES) + 1
    assert Delivery.objects.get().state == State.FAILED


def test_a_410_response_disables_the_webhook(user: User, loopback: None) -> None:
    set_preferences(user)
    with webhook_receiver(answers=[410]) as inbox:
        Webhook.objects.create(user=user, url=inbox.url)
        alerted()
        deliver_due()
    assert Delivery.objects.get().state == State.FAILED
    webhook = Webhook.objects.get()
    assert (webhook.on, webhook.off_reason) == (False, "Its receiver answered 410: gone.")


def test_a_webhook_removed_meanwhile_is_not_called(user: User) -> None:
    set_preferences(user)
    Webhook.objects.create(user=user, url="https://example.org")
    alerted()
    Webhook.objects.all().delete()
    deliver_due()
    assert Delivery.objects.get().state == State.FAILED


def test_a_mail_has_the_alert_and_a_link(user: User, settings: Settings) -> None:
    set_preferences(user, email="ada@example.org", email_on=True)
    with mail_receiver() as mailbox:
        settings.EMAIL_BACKEND, settings.EMAIL_HOST, settings.EMAIL_PORT = SMTP, "127.0.0.1", mailbox.port
        recorded = alerted("Entropy fell.")
        deliver_due()
    [(_, to, letter)] = mailbox.letters
    assert to == ["ada@example.org"]
    assert "Subject: Starboard: warn: calm-otter-12 at step 3" in letter
    assert "Entropy fell." in letter
    assert f"/runs/{recorded.run.pk}/alerts/" in letter


def test_line_breaks_in_a_name_add_no_headers_and_hidden_characters_are_named(user: User, settings: Settings) -> None:
    set_preferences(user, email="ada@example.org", email_on=True)
    recorded = RecordedRun(name="x\r\nBcc: eve@example.org\u202egpj")
    recorded.raise_alert("It went wrong.")
    with mail_receiver() as mailbox:
        settings.EMAIL_BACKEND, settings.EMAIL_HOST, settings.EMAIL_PORT = SMTP, "127.0.0.1", mailbox.port
        recorded.deliver()
        deliver_due()
    [(_, to, letter)] = mailbox.letters
    assert to == ["ada@example.org"]
    head = letter.partition("\r\n\r\n")[0]
    assert not any(line.startswith("Bcc:") for line in head.splitlines())
    assert "eve@example.org[RLO]gpj at step" in head.replace("\r\n", "")
    assert letter.isascii()


def test_a_mail_server_error_is_in_the_delivery_log(user: User, settings: Settings) -> None:
    set_preferences(user, email="ada@example.org", email_on=True)
    with mail_receiver(refuses=True) as mailbox:
        settings.EMAIL_BACKEND, settings.EMAIL_HOST, settings.EMAIL_PORT = SMTP, "127.0.0.1", mailbox.port
        alerted()
        deliver_due()
    delivery = Delivery.objects.get()
    assert delivery.state == State.WAITING
    assert "no such user" in delivery.tries.get().error


def test_a_missing_mail_server_is_reported(user: User, settings: Settings) -> None:
    settings.EMAIL_HOST = ""
    set_preferences(user, email="ada@example.org", email_on=True)
    alerted()
    deliver_due()
    assert "EMAIL_HOST is empty" in Delivery.objects.get().tries.get().error


def test_an_alert_of_a_repeated_step_is_notified_and_counted_once(user: User, client: Client) -> None:
    set_preferences(user, email="ada@example.org", email_on=True)
    recorded = alerted()
    first = recorded.run.alerts.get().seq
    recorded.step = 2
    recorded.emit(
        "run_started", attempt=2, resumed_from=2, total_steps=60, pid=1, device="cpu", model="m", parameters=1
    )
    recorded.deliver()
    assert not recorded.run.alerts.exists()
    recorded.step = 3
    recorded.emit("alert_raised", attempt=2, **ALERT)
    recorded.emit("alert_raised", attempt=2, **ALERT | {"rule": "another"})
    recorded.deliver()
    again, other = recorded.run.alerts.order_by("seq").values_list("seq", flat=True)
    assert sorted(Delivery.objects.values_list("seq", flat=True)) == [first, other]
    # a message, sent or pending, links to its alert
    assert message_of(Delivery.objects.get(seq=first))["data"]["alert"]["message"] == "It went wrong."
    client.force_login(user)
    pages = {seq: client.get(f"/runs/{recorded.run.pk}/alerts/{seq}/").content.decode() for seq in (first, again)}
    assert "no longer counts" in pages[first] and "It went wrong." in pages[first]
    assert "no longer counts" not in pages[again]


def test_alerts_before_the_first_step_are_notified_each_time(user: User) -> None:
    set_preferences(user, email="ada@example.org", email_on=True)
    recorded = RecordedRun(steps=60)
    for attempt in (1, 2):
        recorded.emit("alert_raised", attempt=attempt, **ALERT | {"rule": "cluster"})
        recorded.deliver()
        recorded.emit("run_started", attempt=2, **STARTED)
    assert Delivery.objects.count() == 2
