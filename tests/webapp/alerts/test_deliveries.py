"""Who hears of an alert, once each; what is tried again and when; and what a mail says."""

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


def wants(user: User, **values: object) -> NotificationSettings:
    return NotificationSettings.objects.create(user=user, **{"scope": "all", **values})


def alerted(message: str = "It went wrong.") -> RecordedRun:
    recorded = RecordedRun(steps=60)
    recorded.take_steps(3)
    recorded.raise_alert(message)
    recorded.deliver()
    return recorded


def again_now(**changes: object) -> None:
    Delivery.objects.update(next_at=timezone.now() - timedelta(seconds=1), **changes)


def test_an_alert_is_sent_signed_to_each_webhook_with_where_its_evidence_is(user: User, loopback: None) -> None:
    wants(user)
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


def test_an_alert_is_planned_once_however_often_it_is_read(user: User) -> None:
    wants(user, email="ada@example.org", email_on=True)
    Webhook.objects.create(user=user, url="https://example.org/hook")
    recorded = alerted()
    Run.objects.filter(pk=recorded.run.pk).update(event_offset=0, last_seq=0)
    recorded.deliver()
    assert sorted(Delivery.objects.values_list("channel", flat=True)) == [
        f"email:{user.pk}",
        f"webhook:{Webhook.objects.get().pk}",
    ]


def test_rows_that_are_built_anew_send_nothing(user: User) -> None:
    recorded = alerted()
    wants(user, email="ada@example.org", email_on=True)
    rebuild(recorded.run.pk)
    assert recorded.run.alerts.count() == 1
    assert Delivery.objects.count() == 0


@pytest.mark.parametrize(
    ("scope", "least", "owner", "heard"),
    [
        ("mine", "warn", "other", 0),
        ("all", "warn", "other", 1),
        ("mine", "warn", "nobody", 1),
        ("mine", "warn", "ada", 1),
        ("mine", "critical", "ada", 0),
        ("mine", "watch", "ada", 1),
    ],
)
def test_one_hears_of_the_runs_and_from_the_severity_one_chose(
    user: User, scope: str, least: str, owner: str, heard: int
) -> None:
    wants(user, scope=scope, least_severity=least, email="ada@example.org", email_on=True)
    recorded = RecordedRun()
    owners = {"ada": user, "other": User.objects.create_user("eve"), "nobody": None}
    Run.objects.filter(pk=recorded.run.pk).update(owner=owners[owner])
    recorded.raise_alert("It is a warning.")
    recorded.deliver()
    assert Delivery.objects.count() == heard


def test_what_fails_is_tried_again_later_under_the_same_id(user: User, loopback: None) -> None:
    wants(user)
    with webhook_receiver(answers=[500, 503, 200]) as inbox:
        Webhook.objects.create(user=user, url=inbox.url)
        alerted()
        for expected in RETRIES[:2]:
            assert deliver_due() == 1
            assert deliver_due() == 0  # not before its time
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


def test_after_the_last_try_it_is_given_up(user: User, loopback: None) -> None:
    wants(user)
    with webhook_receiver(answers=[500]) as inbox:
        Webhook.objects.create(user=user, url=inbox.url)
        alerted()
        for _ in range(len(RETRIES) + 3):
            deliver_due()
            again_now()
    assert len(inbox.got) == len(RETRIES) + 1
    assert Delivery.objects.get().state == State.FAILED


def test_a_receiver_that_is_gone_turns_its_webhook_off(user: User, loopback: None) -> None:
    wants(user)
    with webhook_receiver(answers=[410]) as inbox:
        Webhook.objects.create(user=user, url=inbox.url)
        alerted()
        deliver_due()
    assert Delivery.objects.get().state == State.FAILED
    webhook = Webhook.objects.get()
    assert (webhook.on, webhook.off_reason) == (False, "Its receiver answered 410: gone.")


def test_a_webhook_that_was_removed_meanwhile_is_not_called(user: User) -> None:
    wants(user)
    Webhook.objects.create(user=user, url="https://example.org")
    alerted()
    Webhook.objects.all().delete()
    deliver_due()
    assert Delivery.objects.get().state == State.FAILED


def test_a_mail_says_what_happened_and_where_to_look(user: User, settings: Settings) -> None:
    wants(user, email="ada@example.org", email_on=True)
    with mail_receiver() as mailbox:
        settings.EMAIL_BACKEND, settings.EMAIL_HOST, settings.EMAIL_PORT = SMTP, "127.0.0.1", mailbox.port
        recorded = alerted("Entropy fell.")
        deliver_due()
    [(_, to, letter)] = mailbox.letters
    assert to == ["ada@example.org"]
    assert "Subject: Starboard: warn: calm-otter-12 at step 3" in letter
    assert "Entropy fell." in letter
    assert f"/runs/{recorded.run.pk}/alerts/" in letter


def test_a_name_with_line_breaks_is_no_header(user: User, settings: Settings) -> None:
    wants(user, email="ada@example.org", email_on=True)
    recorded = RecordedRun(name="x\r\nBcc: eve@example.org")
    recorded.raise_alert("It went wrong.")
    with mail_receiver() as mailbox:
        settings.EMAIL_BACKEND, settings.EMAIL_HOST, settings.EMAIL_PORT = SMTP, "127.0.0.1", mailbox.port
        recorded.deliver()
        deliver_due()
    [(_, to, letter)] = mailbox.letters
    assert to == ["ada@example.org"]
    head = letter.partition("\r\n\r\n")[0]
    assert not any(line.startswith("Bcc:") for line in head.splitlines())


def test_a_mail_server_that_refuses_is_in_the_log_of_deliveries(user: User, settings: Settings) -> None:
    wants(user, email="ada@example.org", email_on=True)
    with mail_receiver(refuses=True) as mailbox:
        settings.EMAIL_BACKEND, settings.EMAIL_HOST, settings.EMAIL_PORT = SMTP, "127.0.0.1", mailbox.port
        alerted()
        deliver_due()
    delivery = Delivery.objects.get()
    assert delivery.state == State.WAITING
    assert "no such user" in delivery.tries.get().error


def test_without_a_mail_server_it_says_so(user: User, settings: Settings) -> None:
    settings.EMAIL_HOST = ""
    wants(user, email="ada@example.org", email_on=True)
    alerted()
    deliver_due()
    assert "EMAIL_HOST is empty" in Delivery.objects.get().tries.get().error


def test_an_alert_of_a_step_that_is_made_again_is_notified_once_and_counts_once(user: User, client: Client) -> None:
    wants(user, email="ada@example.org", email_on=True)
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
    # the message that was sent, or is yet to be, leads to what it is about
    assert message_of(Delivery.objects.get(seq=first))["data"]["alert"]["message"] == "It went wrong."
    client.force_login(user)
    pages = {seq: client.get(f"/runs/{recorded.run.pk}/alerts/{seq}/").content.decode() for seq in (first, again)}
    assert "no longer counts" in pages[first] and "It went wrong." in pages[first]
    assert "no longer counts" not in pages[again]


def test_alerts_before_the_first_step_are_notified_each_time(user: User) -> None:
    wants(user, email="ada@example.org", email_on=True)
    recorded = RecordedRun(steps=60)
    for attempt in (1, 2):
        recorded.emit("alert_raised", attempt=attempt, **ALERT | {"rule": "cluster"})
        recorded.deliver()
        recorded.emit("run_started", attempt=2, **STARTED)
    assert Delivery.objects.count() == 2
