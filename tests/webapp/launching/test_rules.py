"""Alert rules in the new-run form: the run gets what the editor sends."""

from __future__ import annotations

import json

from django.test import Client

from tests.webapp.runs.rows import a_run
from webapp.environments.models import EnvironmentVersion
from webapp.forms.run_config import flatten
from webapp.launching.presets import run_presets
from webapp.runs.models import Run

RULE = {"name": "low", "kind": "below", "metric": "rollout/success", "limit": "0.05", "steps": "2", "cooldown": "5"}


def posted(lake: EnvironmentVersion, rules: str) -> dict[str, str]:
    values = flatten(run_presets()["starter"].config().model_dump(mode="json"))
    form = {key: value for key, value in values.items() if value != "false"}
    return {**form, "preset": "starter", "environment": str(lake.pk), "detectors.rules": rules}


def test_a_run_gets_the_rules_of_the_form(browser: Client, lake: EnvironmentVersion) -> None:
    assert browser.post("/runs/new/", posted(lake, json.dumps([RULE]))).status_code == 302
    [rule] = Run.objects.get().config["detectors"]["rules"]
    assert (rule["name"], rule["limit"], rule["steps"], rule["cooldown"]) == ("low", 0.05, 2, 5)


def test_an_empty_rule_list_is_stored_as_empty(browser: Client, lake: EnvironmentVersion) -> None:
    browser.post("/runs/new/", posted(lake, "[]"))
    assert Run.objects.get().config["detectors"]["rules"] == []


def test_an_invalid_rule_shows_its_error_and_stays_in_the_editor(browser: Client, lake: EnvironmentVersion) -> None:
    wrong = posted(lake, json.dumps([{**RULE, "limit": "much"}]))
    assert list(browser.post("/runs/check/", wrong).json()["errors"]) == ["detectors.rules.0.limit"]
    answer = browser.post("/runs/new/", wrong)
    assert answer.status_code == 422
    assert '"limit": "much"' in answer.content.decode()


def test_a_clone_starts_with_the_rules_in_force(browser: Client, lake: EnvironmentVersion) -> None:
    run = a_run()
    Run.objects.filter(pk=run.pk).update(settings_changes={"detectors.rules": [{**RULE, "name": "changed"}]})
    page = browser.get(f"/runs/new/?clone={run.pk}").content.decode()
    assert '"name": "changed"' in page
