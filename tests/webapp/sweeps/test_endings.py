"""A sweep whose runs fail one after another stops with the reason; who asked for it hears how a sweep ends."""

from __future__ import annotations

import re

import pytest
from django.contrib.auth.models import User
from django.test import Client

from tests.webapp.members.people import a_member
from tests.webapp.sweeps.sweeping import a_sweep, finish, queued
from webapp.alerts.deliveries import message_of
from webapp.alerts.mail import as_text
from webapp.alerts.models import Delivery, NotificationSettings, Webhook
from webapp.runs.services import move
from webapp.runs.states import RunState
from webapp.sweeps.advancing import advance_all
from webapp.sweeps.models import Sweep, SweepState
from webapp.sweeps.services import Refused, change, resume, stop

pytestmark = pytest.mark.django_db


def next_ends(sweep: Sweep, state: RunState, reason: str = "") -> None:
    """The next queued run ends as a worker ends one, and the sweep is advanced."""
    run = queued(sweep)[0]
    assert move(run, RunState.STARTING)
    if state is not RunState.FAILED:
        assert move(run, RunState.RUNNING)
    assert move(run, state, reason=reason)
    advance_all()
    sweep.refresh_from_db()


def subscribe(user: User, endings: str) -> None:
    NotificationSettings.objects.create(user=user, endings=endings)
    Webhook.objects.create(user=user, url="https://example.org/hook")


def test_three_failed_runs_in_a_row_stop_the_sweep_with_the_reason(user: User, browser: Client) -> None:
    sweep = a_sweep(user, at_once=1, retries=0)
    for _ in range(2):
        next_ends(sweep, RunState.FAILED, "Out of memory.")
        assert sweep.state == SweepState.RUNNING
    next_ends(sweep, RunState.FAILED, "Out of memory.")
    assert (sweep.state, queued(sweep)) == (SweepState.STOPPED, [])
    assert sweep.planned.filter(run=None).count() == 5  # of eight
    assert re.match(
        r"3 runs in a row failed. The newest is kl and steps: .*: Out of memory. Resume", sweep.stopped_because
    )
    page = browser.get(f"/sweeps/{sweep.pk}/").content.decode()
    assert "3 runs in a row failed" in page and 'value="resume"' in page
    assert "3 runs in a row failed" in browser.get(f"/api/v1/sweeps/{sweep.pk}/").json()["stopped_because"]


def test_a_run_that_finishes_between_failures_begins_the_count_again(user: User) -> None:
    sweep = a_sweep(user, at_once=1, retries=0)
    for state in (RunState.FAILED, RunState.CRASHED, RunState.FINISHED, RunState.FAILED, RunState.CRASHED):
        next_ends(sweep, state)
    assert sweep.state == SweepState.RUNNING
    next_ends(sweep, RunState.FAILED)
    assert sweep.state == SweepState.STOPPED


def test_failures_are_retried_within_the_budget_before_they_count(user: User) -> None:
    sweep = a_sweep(user, at_once=1, retries=1)
    for _ in range(5):  # two runs twice, and the third once
        next_ends(sweep, RunState.FAILED)
        assert sweep.state == SweepState.RUNNING
    next_ends(sweep, RunState.FAILED)
    assert sweep.state == SweepState.STOPPED
    assert list(sweep.planned.exclude(run=None).values_list("retries", flat=True)) == [1, 1, 1]


def test_a_resumed_sweep_goes_on_and_counts_from_there(user: User) -> None:
    sweep = a_sweep(user, at_once=1, retries=0)
    for _ in range(3):
        next_ends(sweep, RunState.FAILED)
    assert resume(sweep) == 5  # those that were never launched
    assert (sweep.state, sweep.stopped_because) == (SweepState.RUNNING, "")
    advance_all()
    for _ in range(2):
        next_ends(sweep, RunState.FAILED)
        assert sweep.state == SweepState.RUNNING
    next_ends(sweep, RunState.FAILED)
    assert sweep.state == SweepState.STOPPED
    change(sweep, at_once=1, retries=1, priority=sweep.priority)
    assert resume(sweep) == 6 + 2  # the failed ones as well


def test_nothing_left_to_run_is_an_end_and_no_failure(user: User) -> None:
    sweep = a_sweep(user, at_once=1, retries=0, plan={"axes": [], "seeds": [1, 2]})
    for _ in range(2):
        next_ends(sweep, RunState.FAILED)
    assert (sweep.state, sweep.stopped_because) == (SweepState.FINISHED, "")
    with pytest.raises(Refused, match="Allow more retries"):
        resume(sweep)


@pytest.mark.parametrize(
    ("chosen", "sent"),
    [
        ("none", []),
        ("failed", ["sweep.failed"]),
        ("ended", ["sweep.failed", "sweep.stopped", "sweep.finished"]),
    ],
)
def test_users_choose_of_which_ends_they_hear(user: User, chosen: str, sent: list[str]) -> None:
    subscribe(user, chosen)
    failing = a_sweep(user, at_once=1, retries=0)
    for _ in range(3):
        next_ends(failing, RunState.FAILED)
    stopped = a_sweep(user)
    assert stop(stopped, user, runs=True)
    stop(stopped, user, runs=True)  # it is over: nothing is sent
    finish(a_sweep(user, plan={"axes": [], "seeds": [1]}))
    assert list(Delivery.objects.order_by("pk").values_list("event", flat=True)) == sent


def test_the_message_has_the_reason_and_the_runs_by_state(user: User, browser: Client) -> None:
    subscribe(user, "failed")
    sweep = a_sweep(user, at_once=1, retries=0)
    for _ in range(3):
        next_ends(sweep, RunState.FAILED, "Out of memory.")
    message = message_of(Delivery.objects.get())
    data = message["data"]
    assert (message["type"], data["sweep"]["id"], data["state"]) == ("sweep.failed", sweep.pk, "failed")
    assert data["runs"] == {"total": 8, "planned": 5, "failed": 3}
    assert "Out of memory." in data["reason"] and data["url"].endswith(f"/sweeps/{sweep.pk}/")
    subject, body = as_text(message)
    assert subject == "Starboard: failed: kl and steps"
    assert "Runs: 8, 3 failed, 5 planned" in body and data["url"] in body
    assert f'href="/sweeps/{sweep.pk}/"' in browser.get("/settings/notifications/").content.decode()


def test_another_users_sweep_is_heard_of_by_those_who_asked_for_all(user: User) -> None:
    NotificationSettings.objects.create(user=user, endings="ended", scope="mine")
    Webhook.objects.create(user=user, url="https://example.org/hook")
    other = a_member("grace")
    stop(a_sweep(other), other, runs=False)
    assert not Delivery.objects.exists()
    NotificationSettings.objects.update(scope="all")
    stop(a_sweep(other), other, runs=False)
    assert Delivery.objects.get().event == "sweep.stopped"
