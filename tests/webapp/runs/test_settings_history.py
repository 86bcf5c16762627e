"""Settings that were changed while a run was live are shown as a part of its configuration."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from django.test import Client

from tests.builders.recorded_run import RecordedRun
from tests.builders.runs import add_evaluation
from webapp.environments.differences import leaf_differences
from webapp.runs.models import Run
from webapp.runs.settings_history import described, history_of, with_history
from webapp.runs.states import RunState

pytestmark = pytest.mark.django_db
RATE = "optimizer.learning_rate"


def change(recorded: RecordedRun, field: str, old: object, new: object, *, revision: int = 1) -> None:
    recorded.emit("settings_changed", revision=revision, changes={field: {"old": old, "new": new}})
    Run.objects.filter(pk=recorded.run.pk).update(settings_revision=revision, settings_changes={field: new})


def changed_run() -> RecordedRun:
    """The learning rate is changed after step 70, so from step 71 on."""
    recorded = RecordedRun(steps=100)
    recorded.take_steps(70)
    change(recorded, RATE, 0.0002, 0.00005)
    recorded.take_steps(5)
    recorded.deliver()
    return recorded


def test_a_changed_setting_reads_as_its_values_with_their_first_steps() -> None:
    recorded = changed_run()
    assert described(history_of(recorded.run)) == [f"{RATE} 0.0002 → 0.00005 at step 71"]
    change(recorded, RATE, 0.00005, 0.0001, revision=2)
    recorded.deliver()
    assert described(history_of(recorded.run)) == [f"{RATE} 0.0002 → 0.00005 at step 71 → 0.0001 at step 76"]


def test_a_run_with_changed_settings_differs_from_one_without() -> None:
    run = changed_run().run
    rows = leaf_differences([with_history(run.config, history_of(run)), with_history(run.config, [])]).differing
    assert [(row.key, row.values) for row in rows] == [(RATE, ["0.0002 → 0.00005 at step 71", "0.0002"])]


def test_a_changed_filter_is_read_setting_by_setting() -> None:
    recorded = RecordedRun()
    recorded.take_steps(3)
    change(recorded, "filter", {"type": "top_p", "value": 0.9}, {"type": "top_p", "value": 0.5})
    recorded.deliver()
    assert described(history_of(recorded.run)) == ["filter.value 0.9 → 0.5 at step 4"]


def test_a_change_after_the_step_that_an_attempt_resumes_from_counts_when_it_is_made_again() -> None:
    recorded = changed_run()
    recorded.resume(60)
    recorded.deliver()
    assert history_of(recorded.run) == []
    change(recorded, RATE, 0.0002, 0.00005)
    recorded.deliver()
    assert described(history_of(recorded.run)) == [f"{RATE} 0.0002 → 0.00005 at step 61"]


def test_a_change_that_a_resumed_attempt_reports_again_counts_once() -> None:
    recorded = changed_run()
    recorded.resume(72)
    change(recorded, RATE, 0.0002, 0.00005)
    recorded.deliver()
    assert described(history_of(recorded.run)) == [f"{RATE} 0.0002 → 0.00005 at step 71"]


def test_compare_leaderboard_clone_and_api_have_the_change(client: Client) -> None:
    client.force_login(User.objects.create_user("ada"))
    recorded = changed_run()
    run, other = recorded.run, RecordedRun(name="other").run
    add_evaluation(run, successes=160)
    Run.objects.filter(pk=run.pk).update(state=RunState.FINISHED)
    words = "0.0002 → 0.00005 at step 71"
    assert words in client.get(f"/compare/?runs={run.pk},{other.pk}").content.decode()
    assert words in client.get("/leaderboard/").content.decode()
    form = client.get(f"/runs/new/?clone={run.pk}").content.decode()
    assert f'name="{RATE}" value="5e-05"' in form and words in form
    launched = client.get(f"/runs/new/?clone={run.pk}&settings=launched").content.decode()
    assert f'name="{RATE}" value="0.0002"' in launched
    assert client.get(f"/api/v1/runs/{run.pk}/").json()["settings_history"] == [
        {"field": RATE, "step": 71, "old": 0.0002, "new": 0.00005}
    ]
