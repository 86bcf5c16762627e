"""The form of a new run: presets, clones, the engine's own checks at their fields, and the launch."""

from __future__ import annotations

import tomllib
from typing import Any

import pytest
from django.test import Client

from engine.config import EnvironmentConfig, RunConfig
from tests.webapp.runs.rows import a_run, report
from webapp.environments.models import EnvironmentVersion
from webapp.environments.services import define
from webapp.runs.config_form import flatten
from webapp.runs.models import Run
from webapp.runs.presets import run_presets

pytestmark = pytest.mark.django_db

NEW, CHECK = "/runs/new/", "/runs/check/"


def filled_in(version: EnvironmentVersion | None, **changes: str) -> dict[str, str]:
    """The starter preset as the browser posts it, with some fields changed (`rollout__groups="8"`)."""
    values = flatten(run_presets()["starter"].config().model_dump(mode="json"))
    values |= {name.replace("__", "."): text for name, text in changes.items()}
    ticked = {name: text for name, text in values.items() if text != "false"}
    return {**ticked, "preset": "starter", "environment": str(version.pk) if version else ""}


def field_of(answer: Any, name: str) -> Any:
    return next(one for section in answer.context["sections"] for one in section.fields if one.name == name)


def test_each_preset_is_a_card_with_its_description(browser: Client) -> None:
    page = browser.get(NEW)
    assert [preset.key for preset in page.context["presets"]] == list(run_presets())
    assert page.content.decode().count('class="preset-card"') == len(run_presets())


def test_a_preset_fills_the_fields(browser: Client) -> None:
    config = run_presets()["collapse"].config()
    page = browser.get(f"{NEW}?preset=collapse")
    assert field_of(page, "optimizer.learning_rate").value == str(config.optimizer.learning_rate)


def test_a_launch_makes_a_queued_run_of_what_was_filled_in(browser: Client, lake: EnvironmentVersion) -> None:
    answer = browser.post(NEW, {**filled_in(lake, rollout__groups="8", steps="5"), "name": "my run"})
    run = Run.objects.get()
    assert answer["Location"] == f"/runs/{run.pk}/"
    config = run.parsed_config()
    assert (run.name, run.environment_version, run.total_steps) == ("my run", lake, 5)
    assert (config.rollout.groups, config.steps) == (8, 5)
    assert [environment.tag for environment in config.environments] == ["Lake"]


def test_a_wrong_field_keeps_its_value_beside_its_error_and_launches_nothing(
    browser: Client, lake: EnvironmentVersion
) -> None:
    answer = browser.post(NEW, filled_in(lake, rollout__groups="minus one", optimizer__learning_rate="0.123"))
    assert answer.status_code == 422
    groups = field_of(answer, "rollout.groups")
    assert groups.value == "minus one"
    assert groups.error
    assert field_of(answer, "optimizer.learning_rate").value == "0.123"
    assert not Run.objects.exists()


def test_a_model_that_is_not_there_is_said_at_its_field(browser: Client, lake: EnvironmentVersion) -> None:
    answer = browser.post(NEW, filled_in(lake, model__path="/nowhere/at/all"))
    assert "/nowhere/at/all" in field_of(answer, "model.path").error


def test_an_environment_must_be_chosen_where_there_is_none(browser: Client) -> None:
    answer = browser.post(NEW, filled_in(None))
    assert answer.status_code == 422
    assert answer.context["errors"] == {"environment": "Choose an environment."}


def test_a_budget_that_no_puzzle_fits_is_refused_with_the_reason(browser: Client) -> None:
    # a lake of 8 x 8 needs 14 moves at least; one turn of one action gives 1
    config = {"kind": "frozen_lake", "parameters": {"size": 8}, "max_turns": 1, "max_actions_per_turn": 1}
    tight = define(name="Tight", config=EnvironmentConfig.model_validate(config))
    answer = browser.post(NEW, filled_in(tight))
    assert answer.status_code == 422
    assert "No puzzle can be solved within the budget." in answer.context["errors"]["environment"]


def test_a_clone_starts_from_the_values_of_its_source(browser: Client, lake: EnvironmentVersion) -> None:
    browser.post(NEW, filled_in(lake, rollout__groups="9"))
    source = Run.objects.get()
    page = browser.get(f"{NEW}?clone={source.pk}")
    assert field_of(page, "rollout.groups").value == "9"
    assert field_of(page, "rollout.groups").changed
    assert page.context["chosen"] == lake
    browser.post(NEW, {**filled_in(lake), "clone": source.pk})
    assert Run.objects.exclude(pk=source.pk).get().cloned_from == source


def test_a_clone_keeps_the_alert_rules_of_its_source(browser: Client, lake: EnvironmentVersion) -> None:
    browser.post(NEW, filled_in(lake))
    source = Run.objects.get()
    rule = {"name": "mine", "kind": "above", "metric": "policy/kl", "limit": 0.2}
    source.config["detectors"]["rules"] = [rule]
    source.save()
    browser.post(NEW, {**filled_in(lake, detectors__warn_action="checkpoint"), "clone": source.pk})
    made = Run.objects.exclude(pk=source.pk).get().parsed_config().detectors
    assert [(one.name, one.limit) for one in made.rules] == [("mine", 0.2)]
    assert made.warn_action == "checkpoint"
    toml = browser.post(CHECK, {**filled_in(lake), "clone": source.pk}).json()["toml"]
    assert [one["name"] for one in tomllib.loads(toml)["detectors"]["rules"]] == ["mine"]
    assert "rules" not in tomllib.loads(browser.post(CHECK, filled_in(lake)).json()["toml"])["detectors"]


def test_a_clone_of_nothing_is_a_new_run(browser: Client) -> None:
    assert browser.get(f"{NEW}?clone=nothing").context["source"] is None


def test_the_check_sums_up_and_gives_the_config_to_run_from_a_shell(browser: Client, lake: EnvironmentVersion) -> None:
    answer = browser.post(CHECK, filled_in(lake, rollout__groups="8", rollout__group_size="4")).json()
    assert answer["errors"] == {}
    assert ["Trajectories per step", "32 (8 puzzles × 4)"] in answer["summary"]
    assert answer["command"].startswith("python -m engine train ")
    assert RunConfig.model_validate(tomllib.loads(answer["toml"])).rollout.groups == 8


def test_the_check_knows_the_time_of_a_step_from_runs_like_it(browser: Client, lake: EnvironmentVersion) -> None:
    past = a_run()
    past.config = run_presets()["starter"].config().model_dump(mode="json")
    past.save()
    report(past, *[0.5] * 6)  # two seconds a step
    summary = dict(browser.post(CHECK, filled_in(lake)).json()["summary"])
    assert summary["Time per step"].startswith("about 2.0 s")


def test_the_check_names_wrong_fields(browser: Client, lake: EnvironmentVersion) -> None:
    answer = browser.post(CHECK, filled_in(lake, optimizer__learning_rate="-1")).json()
    assert list(answer["errors"]) == ["optimizer.learning_rate"]


def test_the_wrong_verb_is_refused(browser: Client) -> None:
    assert browser.put(NEW).status_code == 405
    assert browser.get(CHECK).status_code == 405


@pytest.mark.parametrize("path", [NEW, CHECK])
def test_a_stranger_launches_nothing(client: Client, path: str, lake: EnvironmentVersion) -> None:
    client.post(path, filled_in(lake))
    assert not Run.objects.exists()
