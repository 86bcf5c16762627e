"""Runs with several environments, from the form: one row for each further one."""

from __future__ import annotations

import tomllib
from typing import Any

import pytest
from django.test import Client

from engine.config import EnvironmentConfig
from tests.hostile import short
from tests.webapp.launching.test_new_run import CHECK, NEW, filled_in
from webapp.environments.models import EnvironmentVersion
from webapp.environments.services import define
from webapp.launching.more_environments import MOST
from webapp.runs.models import Run

pytestmark = pytest.mark.django_db


@pytest.fixture
def level(db: None) -> EnvironmentVersion:
    return define(name="Level", config=EnvironmentConfig.model_validate({"kind": "sokoban", "tag": "Level"}))


def with_more(lake: EnvironmentVersion, *rows: tuple[Any, str, str], own: str = "0", **changes: str) -> dict[str, Any]:
    """The form with one row per environment, name and number of problems; `own` is the number of the first one."""
    more = {
        f"more-{name}": [str(row[index]) for row in rows] for index, name in enumerate(("environment", "tag", "groups"))
    }
    return {**filled_in(lake, **changes), **more, "environment-groups": own}


def test_each_row_is_an_environment_with_its_name_and_its_problems(
    browser: Client, lake: EnvironmentVersion, level: EnvironmentVersion
) -> None:
    rows = ((level.pk, "", "4"), (lake.pk, "Second lake", "0"))
    browser.post(NEW, with_more(lake, *rows, own="6", rollout__groups="16"))
    run = Run.objects.get()
    made = [(one.kind, one.tag, one.groups) for one in run.parsed_config().environments]
    assert made == [("frozen_lake", "Lake", 6), ("sokoban", "Level", 4), ("frozen_lake", "Second lake", 0)]
    assert run.environment_version == lake


def test_the_groups_of_the_first_environment_are_ignored_without_others(
    browser: Client, lake: EnvironmentVersion
) -> None:
    browser.post(NEW, with_more(lake, own="3"))
    assert [one.groups for one in Run.objects.get().parsed_config().environments] == [0]


def test_errors_are_shown_at_their_row_or_field(
    browser: Client, lake: EnvironmentVersion, level: EnvironmentVersion
) -> None:
    def errors(*rows: tuple[Any, str, str], **changes: str) -> dict[str, str]:
        found: dict[str, str] = browser.post(CHECK, with_more(lake, *rows, **changes)).json()["errors"]
        return found

    assert errors((level.pk, "", "4")) == {}
    assert "tags must differ" in errors((lake.pk, "", "0"))["environment"]
    assert "environments.2" in errors((level.pk, "", "0"), (level.pk, "Other", "many"))
    assert "Select" in errors(("999", "", "0"))["environments.1"]
    assert "Select" in errors(("kept-1", "", "0"))["environments.1"]
    assert "evenly" in errors((level.pk, "", "0"), rollout__groups="9")["rollout.groups"]


def test_a_form_with_an_error_keeps_its_rows(
    browser: Client, lake: EnvironmentVersion, level: EnvironmentVersion
) -> None:
    name = next(text for text in short(60) if "<" in text)
    answer = browser.post(NEW, with_more(lake, (level.pk, name, "4"), own="2", steps="none"))
    assert answer.status_code == 422 and not Run.objects.exists()
    page = answer.content.decode()
    assert page.count('<fieldset class="more-environment">') == 2  # the row and the template of further rows
    assert name not in page
    assert [(row.choice, row.tag, row.groups) for row in answer.context["more"]] == [(str(level.pk), name, "4")]
    assert answer.context["first_groups"] == "2"


def test_a_clone_has_the_environments_of_its_source(
    browser: Client, lake: EnvironmentVersion, level: EnvironmentVersion
) -> None:
    browser.post(NEW, with_more(lake, (level.pk, "Mine", "4"), own="12", rollout__groups="16"))
    source = Run.objects.get()
    page = browser.get(f"{NEW}?clone={source.pk}")
    row = page.context["more"][0]
    assert (row.choice, row.tag, row.groups) == ("kept-1", "Mine", "4")
    assert page.context["first_groups"] == "12"
    assert f"Mine, as in {source.name}" in page.content.decode()
    again = with_more(lake, ("kept-1", "Mine", "4"), own="12", rollout__groups="16") | {"clone": source.pk}
    toml = tomllib.loads(browser.post(CHECK, again).json()["toml"])
    assert [one["tag"] for one in toml["environments"]] == ["Lake", "Mine"]
    browser.post(NEW, again)
    clone = Run.objects.exclude(pk=source.pk).get()
    assert clone.parsed_config().environments == source.parsed_config().environments


def test_rows_beyond_the_limit_are_ignored(browser: Client, lake: EnvironmentVersion) -> None:
    rows = [(lake.pk, f"lake {index}", "0") for index in range(MOST + 5)]
    browser.post(NEW, with_more(lake, *rows, rollout__groups="16"))
    assert len(Run.objects.get().parsed_config().environments) == MOST + 1


def test_query_parameters_fill_rows_as_a_change_of_preset_does(
    browser: Client, lake: EnvironmentVersion, level: EnvironmentVersion
) -> None:
    page = browser.get(f"{NEW}?more-environment={level.pk}&more-tag=Mine&more-groups=4&environment-groups=2")
    row = page.context["more"][0]
    assert (row.choice, row.tag, row.groups, page.context["first_groups"]) == (str(level.pk), "Mine", "4", "2")
