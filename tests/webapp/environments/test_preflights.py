"""The pre-flight page: what it accepts, shows and stops."""

from __future__ import annotations

import pytest
from django.test import Client

from webapp.environments.models import EnvironmentVersion, Preflight
from webapp.jobs import JobState

FORM = {"player": "random", "problems": "4", "rollouts": "2", "first_seed": "0", "model": ""}


def page(version: EnvironmentVersion) -> str:
    return f"/environments/{version.definition_id}/preflight/"


def test_a_submitted_preflight_waits_with_the_configuration_of_its_version(
    browser: Client, lake: EnvironmentVersion
) -> None:
    answer = browser.post(page(lake), FORM)
    made = Preflight.objects.get()
    assert (answer.status_code, answer["Location"]) == (302, f"{page(lake)}?id={made.pk}")
    assert (made.state, made.player, made.problems, made.rollouts) == (JobState.QUEUED, "random", 4, 2)
    assert made.config == lake.config
    shown = browser.get(answer["Location"]).content.decode()
    assert "<h2>Random player, version 1</h2>" in shown


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"player": "optimal"}, "There is no player optimal"),
        ({"problems": "0"}, "Problems: give a whole number from 1 to 64."),
        ({"rollouts": "many"}, "Rollouts: give a whole number from 1 to 32."),
        ({"first_seed": "-1"}, "First seed: give a whole number from 0 to 900,000,000."),
        ({"player": "model"}, "Give the model"),
        ({"player": "model", "model": "--help"}, "Give the model"),
        ({"player": "model", "model": "/nowhere/at/all"}, "is not in a folder of models"),
    ],
)
def test_what_is_not_accepted_is_named(
    browser: Client, lake: EnvironmentVersion, changes: dict[str, str], reason: str
) -> None:
    answer = browser.post(page(lake), {**FORM, **changes})
    assert answer.status_code == 422
    assert reason in answer.content.decode().replace("&#x27;", "")
    assert not Preflight.objects.exists()


def test_a_user_has_one_at_a_time(browser: Client, lake: EnvironmentVersion) -> None:
    browser.post(page(lake), FORM)
    assert "You already have a pre-flight in progress" in browser.post(page(lake), FORM).content.decode()


def test_a_queued_one_is_stopped_at_once_and_a_running_one_is_asked_to(
    browser: Client, lake: EnvironmentVersion
) -> None:
    browser.post(page(lake), FORM)
    made = Preflight.objects.get()
    browser.post(f"{page(lake)}{made.pk}/stop/")
    made.refresh_from_db()
    assert (made.state, made.is_live) == (JobState.STOPPED, False)
    Preflight.objects.update(state=JobState.RUNNING)
    browser.post(f"{page(lake)}{made.pk}/stop/")
    made.refresh_from_db()
    assert (made.state, made.stop_requested) == (JobState.RUNNING, True)


def test_the_page_reads_its_state_as_json(browser: Client, lake: EnvironmentVersion) -> None:
    browser.post(page(lake), FORM)
    made = Preflight.objects.get()
    state = browser.get(f"{page(lake)}{made.pk}/").json()
    assert (state["live"], state["report"], state["asked"]) == (True, None, {"problems": 4, "rollouts": 2})
    assert browser.get(f"/environments/{lake.definition_id + 1}/preflight/{made.pk}/").status_code == 404
