"""Why runs ended and who ended them, as typed choices; and runs that need attention."""

from __future__ import annotations

import json

import pytest
from django.contrib.auth.models import User
from django.test import Client

from engine.events import RunFailed, RunFinished
from tests.webapp.runs.rows import a_run
from webapp.api.openapi import openapi
from webapp.runs import services
from webapp.runs.models import Run
from webapp.runs.states import EndCause, RunState, StopRequester
from webapp.runs.verdicts import status_of
from workers.endings import ending_of

pytestmark = pytest.mark.django_db

DAMAGED = "NoGoodCheckpoint: No checkpoint of this run is usable: step_3 (model has changed since it was written)."


def needs_attention() -> Run:
    run = a_run(state=RunState.FAILED)
    changes = {"end_cause": EndCause.NO_GOOD_CHECKPOINT, "state_reason": DAMAGED, "step": 3}
    Run.objects.filter(pk=run.pk).update(**changes)
    run.refresh_from_db()
    return run


@pytest.mark.parametrize(
    ("state", "cause"),
    [
        (RunState.FINISHED, EndCause.COMPLETED),
        (RunState.STOPPED, EndCause.STOPPED),
        (RunState.FAILED, EndCause.ERROR),
        (RunState.CRASHED, EndCause.CRASHED),
    ],
)
def test_every_end_has_a_cause_which_is_empty_again_when_the_run_is_resumed(state: RunState, cause: EndCause) -> None:
    run = a_run(state=RunState.RUNNING)
    assert services.move(run, state)
    run.refresh_from_db()
    assert run.end_cause == cause
    if state != RunState.FINISHED:
        assert services.resume_ended(run)
        assert run.end_cause == ""


@pytest.mark.parametrize(
    ("event", "cause"),
    [
        (RunFailed(step=3, error="NoGoodCheckpoint", message="None is usable."), EndCause.NO_GOOD_CHECKPOINT),
        (RunFailed(step=3, error="CheckpointError", message="Its start is damaged."), None),
        (RunFinished(step=3, outcome="collapsed", reason="Collapsed.", rule="collapse"), EndCause.RULE),
        (RunFinished(step=3, outcome="completed", reason="All steps are done."), None),
    ],
)
def test_the_last_event_of_an_engine_says_the_cause(event: RunFailed | RunFinished, cause: EndCause | None) -> None:
    ending = ending_of(event, 1, begun=True, stop_requested=False, interrupted=False, log="")
    assert ending.cause == cause


def test_who_requested_a_stop_is_recorded(user: User) -> None:
    by_user, by_sweep, queued = a_run(state=RunState.RUNNING), a_run(state=RunState.RUNNING), a_run()
    services.request_stop(by_user, user)
    services.request_prune(by_sweep, "Below the median.")
    services.move(queued, RunState.QUEUED)
    for run, requester in ((by_user, StopRequester.USER), (by_sweep, StopRequester.SWEEP)):
        run.refresh_from_db()
        assert run.stop_requested_by == requester


def test_a_run_without_a_good_checkpoint_needs_attention_in_lists_on_its_page_and_in_the_api(browser: Client) -> None:
    run = needs_attention()
    assert status_of(run).label == "Needs attention"
    assert "Needs attention" in browser.get("/").content.decode() + browser.get("/runs/").content.decode()
    page = browser.get(f"/runs/{run.pk}/").content.decode()
    assert '<section class="panel" id="needs-attention">' in page and "step_3 (model has changed" in page
    assert f"/runs/new/?clone={run.pk}" in page and "Start over" in page
    answer = browser.get(f"/api/v1/runs/{run.pk}/").json()
    shown = (answer["state"], answer["shown_as"], answer["label"], answer["end_cause"])
    assert shown == ("failed", "needs_attention", "Needs attention", "no_good_checkpoint")
    assert set(openapi()["components"]["schemas"]["EndCause"]["enum"]) == set(EndCause.values)


def test_it_starts_over_on_request_alone(browser: Client) -> None:
    run = needs_attention()
    answer = browser.post(
        f"/api/v1/runs/{run.pk}/control", json.dumps({"action": "start_over"}), content_type="application/json"
    )
    assert answer.status_code == 200
    run.refresh_from_db()
    assert (run.state, run.attempt, run.start_over, run.end_cause) == (RunState.QUEUED, 2, True, "")
    assert not services.request_start_over(a_run(state=RunState.FAILED))


def test_a_resume_does_not_start_over() -> None:
    run = needs_attention()
    assert services.request_resume(run)
    assert (run.state, run.start_over) == (RunState.QUEUED, False)
