"""Messages about runs that start and end: who gets which, once for each move, with the state that the run had."""

from __future__ import annotations

import json

import pytest
from django.contrib.auth.models import User
from django.db import transaction
from django.test import Client

from tests.builders.recorded_run import RecordedRun
from tests.webapp.alerts.receivers import webhook_receiver
from tests.webapp.alerts.test_webhooks import verified
from tests.webapp.runs.rows import a_run
from webapp.alerts.deliveries import deliver_due, message_of
from webapp.alerts.mail import as_text
from webapp.alerts.models import Delivery, NotificationSettings, Webhook
from webapp.alerts.webhooks import secret_of
from webapp.runs.models import Run
from webapp.runs.services import move
from webapp.runs.states import RunState


def subscribe(user: User, run_events: str, url: str = "https://example.org/hook") -> Webhook:
    NotificationSettings.objects.create(user=user, scope="all", run_events=run_events)
    return Webhook.objects.create(user=user, url=url)


def events() -> list[str]:
    return list(Delivery.objects.order_by("pk").values_list("event", flat=True))


def test_the_end_of_a_run_is_sent_signed_with_its_verdict(user: User, loopback: None) -> None:
    with webhook_receiver() as inbox:
        webhook = subscribe(user, "ended", inbox.url)
        recorded = RecordedRun(steps=30)
        recorded.take_steps(30)
        recorded.finish(reason="All steps are done.")
        assert deliver_due() == 1
    [(_, headers, body)] = inbox.got
    assert verified(secret_of(webhook), headers, body)
    message = json.loads(body)
    assert message["type"] == "run.finished"
    assert message["data"]["run"]["id"] == recorded.run.pk
    assert (message["data"]["state"], message["data"]["reason"], message["data"]["step"]) == (
        "finished",
        "All steps are done.",
        30,
    )
    assert message["data"]["verdict"]["label"] == recorded.run.verdict["label"]


@pytest.mark.parametrize(
    ("chosen", "sent"),
    [
        ("none", []),
        ("failed", ["run.failed"]),
        ("ended", ["run.stopped", "run.failed"]),
        ("all", ["run.started", "run.stopped", "run.failed"]),
    ],
)
def test_users_choose_of_which_moves_they_hear(user: User, chosen: str, sent: list[str]) -> None:
    subscribe(user, chosen)
    run = a_run(state=RunState.QUEUED)
    assert move(run, RunState.STARTING)
    assert move(run, RunState.RUNNING)
    assert move(run, RunState.STOPPED)
    assert not move(run, RunState.FAILED)  # it has ended: nothing is sent
    assert move(a_run("other"), RunState.CRASHED, reason="It was killed.")
    assert events() == sent


def test_a_message_keeps_the_state_that_it_is_about(user: User) -> None:
    subscribe(user, "failed")
    run = a_run()
    move(run, RunState.FAILED, reason="Out of memory.", remedy="Use smaller batches.")
    Run.objects.filter(pk=run.pk).update(state=RunState.QUEUED, state_reason="")  # resumed before it was sent
    message = message_of(Delivery.objects.get())
    assert (message["data"]["state"], message["data"]["reason"]) == ("failed", "Out of memory.")
    subject, body = as_text(message)
    assert subject == "Starboard: failed: calm-otter-12"
    assert "Out of memory.\nUse smaller batches." in body


@pytest.mark.django_db(transaction=True)
def test_a_move_that_is_rolled_back_sends_nothing(user: User) -> None:
    subscribe(user, "ended")
    run = a_run()
    with transaction.atomic():
        move(run, RunState.STOPPED)
        transaction.set_rollback(True)
    assert events() == []


def test_the_page_saves_the_choice_and_shows_what_was_sent(user: User, client: Client) -> None:
    client.force_login(user)
    page = client.post(
        "/settings/notifications/",
        {
            "action": "save",
            "scope": "all",
            "least_severity": "warn",
            "run_events": "ended",
            "endings": "none",
            "email": "",
        },
    )
    assert page.status_code == 302
    assert NotificationSettings.objects.get().run_events == "ended"
    Webhook.objects.create(user=user, url="https://example.org/hook")
    run = a_run()
    move(run, RunState.STOPPED)
    text = client.get("/settings/notifications/").content.decode()
    assert "run.stopped" in text
    assert f'href="/runs/{run.pk}/"' in text
