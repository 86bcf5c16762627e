"""Forks from a checkpoint and repeated runs of the same configuration, from the page to the row."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from django.test import Client

from engine.config import RunConfig
from tests.webapp.runs.rows import a_run, report
from webapp.environments.models import EnvironmentVersion
from webapp.forms.run_config import flatten
from webapp.forms.texts import text_of
from webapp.launching import drafts
from webapp.launching.presets import run_presets
from webapp.runs.forks import why_not
from webapp.runs.models import Alert, Checkpoint, Run
from webapp.runs.services import run_again, submit_run
from webapp.runs.states import RunState

pytestmark = pytest.mark.django_db


def with_checkpoint(run: Run, step: int = 40) -> Path:
    """A directory with a manifest, which is enough to be listed as a checkpoint."""
    path = run.directory / f"checkpoints/step_{step}"
    (path / "model").mkdir(parents=True)
    (path / "manifest.json").write_text(json.dumps({"model/weights": "0"}))
    (path / "model/weights").write_text("weights")
    return path


def forked(run: Run, step: int = 40) -> dict[str, Any]:
    return {**run.config, "model": {**run.config["model"], "start_from": {"run": run.pk, "step": step}}}


def posted(run: Run, lake: EnvironmentVersion, step: int = 40) -> dict[str, str]:
    values = flatten(run_presets()["starter"].config().model_dump(mode="json"))
    form = {key: value for key, value in values.items() if value != "false"}
    start = {"model.start_from.run": run.pk, "model.start_from.step": str(step)}
    return {**form, **start, "preset": "starter", "environment": str(lake.pk), "clone": run.pk}


def test_a_fork_form_starts_from_the_run_s_current_settings(browser: Client, lake: EnvironmentVersion) -> None:
    run = a_run()
    Run.objects.filter(pk=run.pk).update(settings_changes={"optimizer.learning_rate": 1e-5})
    page = browser.get(f"/runs/new/?clone={run.pk}&step=40").content.decode()
    assert "Fork calm-otter-12 at step 40" in page
    assert f'name="model.start_from.run" value="{run.pk}"' in page
    assert 'name="model.start_from.step" value="40"' in page
    assert 'name="model.start_from.steps_before" value="40"' in page
    assert 'name="optimizer.learning_rate" value="1e-05"' in page


def test_a_launched_fork_keeps_the_checkpoint_when_its_parent_drops_it(
    browser: Client, lake: EnvironmentVersion
) -> None:
    parent = a_run()
    checkpoint = with_checkpoint(parent)
    answer = browser.post("/runs/new/", posted(parent, lake))
    assert answer.status_code == 302, answer.content.decode()
    fork = Run.objects.exclude(pk=parent.pk).get()
    start = {"run": parent.pk, "step": 40, "steps_before": 0, "optimizer": True}
    assert fork.config["model"]["start_from"] == start
    assert (fork.cloned_from, fork.step) == (parent, 0)
    shutil.rmtree(checkpoint)
    assert (fork.directory / f"start/{parent.pk}/step_40/model/weights").read_text() == "weights"
    page = browser.get(f"/runs/{fork.pk}/").content.decode()
    assert f'forked from <a href="/runs/{parent.pk}/">calm-otter-12</a> at step 40' in page


def test_a_missing_checkpoint_is_an_error_at_its_field(browser: Client, lake: EnvironmentVersion) -> None:
    parent = a_run()
    with_checkpoint(parent, 20)
    answer = browser.post("/runs/new/", posted(parent, lake))
    assert answer.status_code == 422
    assert "Choose one of its steps 20." in answer.content.decode()
    checked = browser.post("/runs/check/", posted(parent, lake)).json()
    assert checked["errors"] == {"model.start_from.step": "Choose one of its steps 20."}


def test_a_checkpoint_deleted_between_check_and_launch_keeps_the_filled_form(
    browser: Client, lake: EnvironmentVersion, monkeypatch: pytest.MonkeyPatch
) -> None:
    parent = a_run()
    with_checkpoint(parent, 20)
    checkpoint = with_checkpoint(parent)

    def checked_then_gone(config: RunConfig) -> str:
        reason = why_not(config)
        shutil.rmtree(checkpoint)
        return reason

    monkeypatch.setattr(drafts, "why_not", checked_then_gone)
    answer = browser.post("/runs/new/", {**posted(parent, lake), "name": "my fork", "optimizer.learning_rate": "3e-5"})
    page = answer.content.decode()
    assert answer.status_code == 422
    assert "so the run was not launched. Choose one of its steps 20." in page
    assert 'value="my fork"' in page
    assert 'name="optimizer.learning_rate" value="3e-5"' in page
    assert Run.objects.get() == parent
    assert [path.name for path in parent.directory.parent.iterdir()] == [parent.pk]


@pytest.mark.parametrize("left", ["nothing", "a part of it"])
def test_run_again_of_a_fork_without_its_checkpoint_is_refused(browser: Client, left: str) -> None:
    parent = a_run()
    checkpoint = with_checkpoint(parent)
    fork = submit_run(owner=None, config=forked(parent))
    shutil.rmtree(fork.directory)
    if left == "nothing":
        shutil.rmtree(checkpoint)
    else:  # its run is removing it
        (checkpoint / "model/weights").unlink()
    answer = browser.post(f"/runs/{fork.pk}/again/", follow=True)
    assert answer.status_code == 200
    assert "checkpoint of step 40" in answer.content.decode()
    assert Run.objects.count() == 2
    assert [path.name for path in parent.directory.parent.iterdir()] == [parent.pk]


@pytest.mark.parametrize("run", ["../x", "/etc/passwd", "nowhere000"])
def test_an_unknown_run_is_refused(browser: Client, lake: EnvironmentVersion, run: str) -> None:
    form = {**posted(a_run(), lake), "model.start_from.run": run}
    answer = browser.post("/runs/check/", form).json()
    assert any(name.startswith("model.start_from") for name in answer["errors"])


def test_a_fork_of_a_fork_finds_the_checkpoint_that_the_first_one_kept() -> None:
    parent = a_run()
    checkpoint = with_checkpoint(parent)
    submit_run(owner=None, config=forked(parent))
    shutil.rmtree(checkpoint)
    other = submit_run(owner=None, config=forked(parent))
    assert (other.directory / f"start/{parent.pk}/step_40/manifest.json").is_file()


def test_run_again_uses_the_same_configuration_and_seed(browser: Client) -> None:
    run = a_run(state=RunState.FINISHED)
    answer = browser.post(f"/runs/{run.pk}/again/")
    twin = Run.objects.exclude(pk=run.pk).get()
    assert answer["Location"] == f"/runs/{twin.pk}/"
    assert (twin.config, twin.name, twin.cloned_from) == (run.config, "calm-otter-12 again", run)
    assert twin.audit.get().action == "again"


def test_the_page_shows_the_step_at_which_two_runs_of_one_configuration_diverge(browser: Client) -> None:
    run = a_run()
    twin = run_again(run, None)
    report(run, 0.1, 0.2, 0.3)
    report(twin, 0.1, 0.2, 0.4)
    page = browser.get(f"/runs/{run.pk}/history/").content.decode()
    assert "The first difference is at step 3, in 1 metric." in page
    assert '<th scope="row" class="mono">rollout/success</th><td class="num">0.3</td><td class="num">0.4</td>' in page
    compared = browser.get(f"/compare/?runs={run.pk},{twin.pk}").content.decode()
    assert "The first difference is at step 3" in compared


def test_a_fork_after_an_alert_is_filled_in_with_the_changes_that_it_suggests(
    browser: Client, lake: EnvironmentVersion
) -> None:
    run = a_run()
    with_checkpoint(run)
    alert = Alert.objects.create(
        run=run, seq=9, step=50, time=1.0, rule="kl_high", severity="warn", message="KL", metric="policy/kl",
        value=0.4, baseline=0.1, since=45, fork_before=44,
    )  # fmt: skip
    Checkpoint.objects.create(run=run, step=40, path="checkpoints/step_40", bytes=1, reason="schedule", time=1.0)
    rate = run.parsed_config().optimizer.learning_rate
    evidence = browser.get(f"/runs/{run.pk}/alerts/{alert.seq}/").content.decode()
    assert "the last checkpoint before step 44, where the first sign began" in evidence
    assert f"/runs/new/?clone={run.pk}&amp;step=40&amp;alert=9" in evidence
    page = browser.get(f"/runs/new/?clone={run.pk}&step=40&alert=9").content.decode()
    assert "Changed because of the alert" in page
    lower = float(f"{0.3 * rate:.2g}")
    assert f"{text_of(rate)} → {text_of(lower)}" in page
    assert f'name="optimizer.learning_rate" value="{text_of(lower)}"' in page


def test_without_a_checkpoint_before_the_first_sign_a_run_starts_again_with_the_changes(browser: Client) -> None:
    run = a_run()
    Alert.objects.create(
        run=run, seq=9, step=5, time=1.0, rule="kl_high", severity="warn", message="KL", metric="policy/kl",
        value=0.4, baseline=0.1, since=3, fork_before=3,
    )  # fmt: skip
    evidence = browser.get(f"/runs/{run.pk}/alerts/9/").content.decode()
    assert "No checkpoint is left from before step 3" in evidence
    assert "Start again with changes" in evidence
    page = browser.get(f"/runs/new/?clone={run.pk}&alert=9").content.decode()
    assert "Changed because of the alert" in page
    assert 'name="model.start_from.run" value=""' in page
