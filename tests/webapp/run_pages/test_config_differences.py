"""How a run's configuration differs from its preset and its parent, and the file that is downloaded."""

from __future__ import annotations

import tomllib
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from engine.config import RunConfig, build_config
from tests.builders.recorded_run import RecordedRun
from tests.builders.runs import build_run
from tests.webapp.runs.test_settings_history import RATE, change
from webapp.launching.models import SavedPreset
from webapp.run_pages.config_differences import Comparison, comparisons
from webapp.runs.models import Run
from webapp.runs.shipped_presets import shipped_presets

pytestmark = pytest.mark.django_db


def starter(**changes: Any) -> RecordedRun:
    """Of the starter preset, with other sections, and five steps."""
    recorded = RecordedRun()
    config = build_config({**shipped_presets()["starter"], **changes})
    Run.objects.filter(pk=recorded.run.pk).update(preset=config.preset, config=config.model_dump(mode="json"))
    recorded.take_steps(5)
    recorded.deliver()
    return recorded


def rows(comparison: Comparison) -> dict[str, list[str | None]]:
    return {row.key: row.values for row in comparison.rows.differing}


def test_a_run_is_compared_with_its_preset_setting_by_setting() -> None:
    recorded = starter(rollout={"groups": 4, "group_size": 8}, filter={"type": "top_p", "value": 0.9})
    change(recorded, RATE, 0.0002, 0.00005)
    recorded.deliver()
    (found,) = comparisons(recorded.run)
    assert found.title == "Differences from the preset Starter"
    shown = rows(found)
    assert shown["rollout.groups"] == ["16", "4"]
    assert shown[RATE] == ["0.0002", "0.0002 → 0.00005 at step 6"]
    assert shown["filter.value"][1] == "0.9"
    assert "rollout.group_size" not in shown
    assert "description" not in shown
    assert "rollout.group_size" in {row.key for row in found.rows.same}


def test_a_fork_is_compared_with_what_its_parent_trained_with_at_that_step() -> None:
    recorded = starter()
    change(recorded, RATE, 0.0002, 0.0001)  # from step 6 on
    recorded.take_steps(4)
    change(recorded, RATE, 0.0001, 0.00001, revision=2)  # from step 10 on
    recorded.deliver()
    parent = recorded.run
    data = RunConfig.model_validate(parent.config).model_dump(mode="json")
    data["optimizer"]["learning_rate"] = 0.00005
    data["model"]["start_from"] = {**data["model"]["start_from"], "run": parent.pk, "step": 8}
    fork = build_run(name="fork", config={**data, "preset": "mine"})
    Run.objects.filter(pk=fork.pk).update(forked_from=parent, fork_step=8)
    fork.refresh_from_db()
    (found,) = comparisons(fork)  # no preset that ships is called so
    assert (found.title, found.parent) == (f"Differences from {parent.name} at step 8", parent)
    assert rows(found)[RATE] == ["0.0001", "0.00005"]
    assert not any(key.startswith("model.start_from") for key in rows(found))


def test_a_run_is_compared_with_the_preset_that_its_owner_saved_and_that_only_the_owner_sees() -> None:
    ada, eve = (User.objects.create_user(name) for name in ("ada", "eve"))
    data = shipped_presets()["starter"]
    mine = build_config({**data, "preset": "mine"}).model_dump(mode="json")
    SavedPreset.objects.create(owner=ada, name="mine", config=mine)
    SavedPreset.objects.create(owner=eve, name="mine", config=mine)
    run = starter(preset="mine", rollout={"groups": 4, "group_size": 8}).run
    Run.objects.filter(pk=run.pk).update(owner=ada, created_at=timezone.now())
    run.refresh_from_db()
    (found,) = comparisons(run, ada)
    assert found.title == "Differences from your preset mine"
    assert rows(found)["rollout.groups"] == ["16", "4"]
    assert comparisons(run, eve) == comparisons(run) == []
    ada.presets.get().save()
    assert comparisons(run, ada)[0].title == "Differences from your preset mine (saved again after the launch)"
    ada.presets.all().delete()
    assert comparisons(run, ada) == []


def test_the_page_shows_differences_and_hides_what_is_the_same(browser: Client) -> None:
    recorded = starter(rollout={"groups": 4, "group_size": 8})
    page = browser.get(f"/runs/{recorded.run.pk}/config/differences/").content.decode()
    assert '<td class="mono">16</td><td class="mono">4</td>' in page
    assert "identical settings</summary>" in page
    assert "differ" not in browser.get(f"/runs/{build_run().pk}/config/differences/").content.decode()


def test_the_downloaded_file_is_the_configuration_at_launch(browser: Client) -> None:
    recorded = starter(rollout={"groups": 4, "group_size": 8})
    answer = browser.get(f"/runs/{recorded.run.pk}/config/download/")
    assert answer["Content-Disposition"] == f'attachment; filename="{recorded.run.pk}.toml"'
    again = build_config(tomllib.loads(answer.content.decode()))
    assert again == RunConfig.model_validate(Run.objects.get(pk=recorded.run.pk).config)
