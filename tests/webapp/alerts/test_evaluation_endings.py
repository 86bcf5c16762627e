"""Messages about evaluations on suites that end."""

from __future__ import annotations

import json

import pytest
from django.contrib.auth.models import User
from django.test import Client

from tests.builders.suites import suite_evaluation
from tests.webapp.alerts.receivers import webhook_receiver
from tests.webapp.alerts.test_webhooks import verified
from webapp.alerts.deliveries import deliver_due, message_of
from webapp.alerts.mail import as_text
from webapp.alerts.models import Delivery, NotificationSettings, Webhook
from webapp.alerts.webhooks import secret_of
from webapp.jobs import JobState
from webapp.suites.models import SuiteEvaluation
from workers.suite_evaluations import HeldSuiteEvaluation

pytestmark = pytest.mark.django_db


def running(user: User) -> SuiteEvaluation:
    """With four episodes, three of them solved."""
    made = suite_evaluation({"Bandit": ["1", "1", "0", "1"]}, write_file=True, owner=user)
    SuiteEvaluation.objects.filter(pk=made.pk).update(state=JobState.RUNNING)
    return made


def subscribe(user: User, endings: str, url: str = "https://example.org/hook") -> Webhook:
    NotificationSettings.objects.create(user=user, endings=endings)
    return Webhook.objects.create(user=user, url=url)


def test_a_finished_evaluation_is_sent_signed_with_its_numbers(user: User, loopback: None) -> None:
    evaluation = running(user)
    with webhook_receiver() as inbox:
        webhook = subscribe(user, "ended", inbox.url)
        HeldSuiteEvaluation(evaluation)._end({"state": JobState.FINISHED})
        assert deliver_due() == 1
    [(_, headers, body)] = inbox.got
    assert verified(secret_of(webhook), headers, body)
    message = json.loads(body)
    data = message["data"]
    assert message["type"] == "evaluation.finished"
    assert (data["evaluation"]["id"], data["evaluation"]["suite"]) == (evaluation.pk, "bandits")
    assert (data["played"], data["success"]) == (4, 0.75)
    assert data["low"] < 0.75 < data["high"]


def test_failures_have_their_reason_and_an_end_is_sent_once(user: User, browser: Client) -> None:
    subscribe(user, "failed")
    held = HeldSuiteEvaluation(running(user))
    held._end(held.failed("The endpoint does not respond.", "Resume it."))
    held._end({"state": JobState.FINISHED})  # it is over already
    message = message_of(Delivery.objects.get())
    assert (message["type"], message["data"]["reason"]) == (
        "evaluation.failed",
        "The endpoint does not respond. Resume it.",
    )
    subject, body = as_text(message)
    assert subject == "Starboard: failed: tiny on bandits v1"
    assert "Episodes: 4 of 4\nSuccess: 0.750 [" in body
    page = browser.get("/settings/notifications/").content.decode()
    assert f'href="/evaluations/{held.job.pk}/"' in page and "tiny on bandits v1" in page


def test_one_that_is_stopped_before_it_starts_is_a_stopped_one(user: User) -> None:
    subscribe(user, "ended")
    evaluation = running(user)
    SuiteEvaluation.objects.filter(pk=evaluation.pk).update(state=JobState.QUEUED)
    assert evaluation.stop()
    assert Delivery.objects.get().event == "evaluation.stopped"


def test_the_settings_are_saved_on_the_page(browser: Client, user: User) -> None:
    fields = {"action": "save", "scope": "mine", "least_severity": "warn", "run_events": "none", "endings": "failed"}
    assert browser.post("/settings/notifications/", fields).status_code == 302
    assert NotificationSettings.objects.get(user=user).endings == "failed"
