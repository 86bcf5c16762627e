"""Facts of environments, which a worker measures: what is lacking, what is stored, and what pages show meanwhile."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from engine.config import EnvironmentConfig
from engine.environment_calls.helper import CallFailed
from webapp.environments import calls, measuring
from webapp.environments.models import EnvironmentVersion
from webapp.environments.services import define_unmeasured, edit

pytestmark = pytest.mark.django_db


def unmeasured(**fields: Any) -> EnvironmentVersion:
    config = EnvironmentConfig.model_validate({"kind": "bandit", "tag": "B", **fields})
    return define_unmeasured(name="B", config=config)


def answered(call: str, config: dict[str, Any]) -> dict[str, Any]:
    return calls.ask(call, EnvironmentConfig.model_validate(config))


def failed(call: str, config: dict[str, Any]) -> dict[str, Any]:
    raise CallFailed("The environment raised LookupError: no level")


def test_a_picture_comes_first_and_then_players_and_solutions() -> None:
    version = unmeasured()
    assert (measuring.lacking(measuring.look), measuring.lacking(measuring.measure)) == ([version.pk], [version.pk])
    measuring.look(version, answered)
    assert (measuring.lacking(measuring.look), measuring.lacking(measuring.measure)) == ([], [version.pk])
    measuring.measure(version, answered)
    assert measuring.lacking(measuring.measure) == []
    version.refresh_from_db()
    assert [one["player"] for one in version.facts["baselines"]] == ["random", "scripted"]
    assert version.facts["solutions"] == {"lengths": [1] * 20, "unknown": 0}


def test_an_environment_that_fails_is_not_tried_again() -> None:
    version = unmeasured()
    measuring.look(version, failed)
    measuring.measure(version, failed)
    version.refresh_from_db()
    assert version.facts["problem"] == "The environment raised LookupError: no level"
    assert measuring.lacking(measuring.measure) == []


def test_a_version_edited_meanwhile_is_measured_again() -> None:
    version = unmeasured()
    stale = EnvironmentVersion.objects.get(pk=version.pk)
    EnvironmentVersion.objects.filter(pk=version.pk).update(config={**version.config, "max_turns": 2})
    measuring.look(stale, answered)
    assert measuring.lacking(measuring.look) == [version.pk]


def test_an_edited_version_has_facts_of_what_it_is_now() -> None:
    version = unmeasured()
    edited = edit(version.definition, name="B", config=version.parsed().model_copy(update={"max_turns": 2}))
    assert edited.pk == version.pk
    assert "baselines" in edited.facts


def test_cards_say_that_they_are_being_measured_and_get_the_facts_later(browser: Client) -> None:
    version = unmeasured()
    assert f'data-measuring="{version.pk}"' in browser.get("/environments/").content.decode()
    assert browser.get("/environments/facts/", {"v": version.pk}).json() == {"facts": {}}
    measuring.look(version, answered)
    measuring.measure(version, answered)
    found = browser.get("/environments/facts/", {"v": [version.pk, "x"]}).json()["facts"][str(version.pk)]
    assert found["drawing"]["type"] == "arms"
    assert "data-measuring" not in browser.get("/environments/").content.decode()


def test_the_budget_is_compared_with_what_was_measured() -> None:
    version = unmeasured()
    assert measuring.measured_feasibility(version.parsed()) is None
    measuring.measure(version, answered)
    found = measuring.measured_feasibility(version.parsed())
    assert found is not None and (found.problems, found.solvable_share) == (20, 1.0)
    other = version.parsed().model_copy(update={"parameters": {"low_mean": 0.3}})
    assert measuring.measured_feasibility(other) is None
