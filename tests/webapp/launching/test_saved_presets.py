"""Presets of one's own: saved from the form, offered to their owner alone, and started from."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from tests.webapp.launching.test_new_run import NEW, field_of, filled_in
from webapp.environments.models import EnvironmentVersion
from webapp.launching.models import SavedPreset
from webapp.runs.models import Run

SAVE = "/runs/presets/"


def saved(browser: Client, lake: EnvironmentVersion, name: str = "mine", **fields: Any) -> Any:
    return browser.post(SAVE, {**filled_in(lake, **fields), "preset-name": name})


def test_a_saved_preset_fills_the_form_with_its_values(browser: Client, lake: EnvironmentVersion) -> None:
    location = saved(browser, lake, rollout__groups="9").json()["location"]
    page = browser.get(location)
    assert page.context["preset"].title == "mine"
    assert field_of(page, "rollout.groups").value == "9"
    assert not field_of(page, "rollout.groups").changed
    assert page.context["chosen"] == lake
    assert not Run.objects.exists()


def test_saving_under_the_same_name_replaces_it(browser: Client, lake: EnvironmentVersion) -> None:
    saved(browser, lake, rollout__groups="9")
    saved(browser, lake, rollout__groups="7")
    assert SavedPreset.objects.get().config["rollout"]["groups"] == 7


@pytest.mark.parametrize("name", ["", " ", "x" * 61])
def test_a_preset_needs_a_name(browser: Client, lake: EnvironmentVersion, name: str) -> None:
    answer = saved(browser, lake, name)
    assert answer.status_code == 422
    assert "1 to 60 characters" in answer.json()["errors"]["preset-name"]


def test_a_preset_does_not_take_the_name_of_an_included_one(browser: Client, lake: EnvironmentVersion) -> None:
    answer = saved(browser, lake, "Starter")
    assert answer.json()["errors"] == {"preset-name": "Starter is the name of an included preset. Choose another."}
    assert not SavedPreset.objects.exists()


def test_what_cannot_be_launched_cannot_be_saved(browser: Client, lake: EnvironmentVersion) -> None:
    answer = saved(browser, lake, rollout__groups="0")
    assert answer.status_code == 422
    assert answer.json()["errors"]["rollout.groups"] == "must be 1 or more, got '0'"
    assert not SavedPreset.objects.exists()


def test_presets_of_others_are_neither_offered_nor_deleted(browser: Client, lake: EnvironmentVersion) -> None:
    other = SavedPreset.objects.create(owner=User.objects.create_user("eve"), name="theirs", config={})
    assert "theirs" not in browser.get(NEW).content.decode()
    assert browser.get(f"{NEW}?preset=saved-{other.pk}").context["preset"].key == "starter"
    assert browser.post(f"{SAVE}{other.pk}/delete/").status_code == 404
    assert SavedPreset.objects.filter(pk=other.pk).exists()


def test_a_preset_is_deleted_by_its_owner(browser: Client, lake: EnvironmentVersion) -> None:
    saved(browser, lake)
    browser.post(f"{SAVE}{SavedPreset.objects.get().pk}/delete/")
    assert not SavedPreset.objects.exists()
