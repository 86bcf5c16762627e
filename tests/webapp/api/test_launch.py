"""Runs launched by programs: from a preset, JSON or TOML, checked as the form checks, once per idempotency key."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from engine.config import RunConfig
from tests.webapp.members.people import a_member
from webapp.audit.models import AuditEntry
from webapp.environments.models import EnvironmentVersion
from webapp.idempotency.models import IdempotentRequest
from webapp.runs.models import Run
from webapp.runs.states import RunState

pytestmark = pytest.mark.django_db

RUNS = "/api/v1/runs/"


def launch(browser: Client, body: object, key: str | None = None) -> Any:
    headers = {"Idempotency-Key": key} if key is not None else {}
    return browser.post(RUNS, json.dumps(body), content_type="application/json", headers=headers)


def test_a_preset_with_changes_is_queued(browser: Client) -> None:
    body = {"preset": "starter", "overrides": {"steps": 7, "optimizer.learning_rate": 1e-5}, "name": "seven",
            "project": "lakes", "tags": ["short"], "notes": "By a program."}  # fmt: skip
    answer = launch(browser, body)
    assert answer.status_code == 201
    run = Run.objects.get(pk=answer.json()["id"])
    assert (run.state, run.name, run.total_steps) == (RunState.QUEUED, "seven", 7)
    assert (run.project.name, run.notes, answer.json()["tags"]) == ("lakes", "By a program.", ["short"])
    assert run.config["optimizer"]["learning_rate"] == 1e-5
    assert sorted(entry.action for entry in AuditEntry.objects.filter(run=run)) == ["label", "launch"]


def test_json_and_toml_give_the_same_configuration(browser: Client) -> None:
    one = launch(browser, {"config": {"steps": 3, "algorithm": {"type": "rloo"}}}).json()
    other = launch(browser, {"toml": 'steps = 3\n[algorithm]\ntype = "rloo"\n'}).json()
    assert one["config"] == other["config"]
    assert RunConfig.model_validate(one["config"]).algorithm.type == "rloo"


LARGE = "Qwen/Qwen2.5-3B-Instruct"


@pytest.mark.parametrize(
    ("body", "rate", "tokens"),
    [
        ({"config": {"model": {"path": LARGE}}}, 1e-6, 400),
        ({"config": {"model": {"path": LARGE}, "optimizer": {"learning_rate": 3e-6}}}, 3e-6, 400),
        ({"config": {"model": {"path": LARGE}}, "sized_defaults": False}, 2e-4, 40),
        ({"config": {}}, 2e-4, 40),
        # a preset for a small model, with another model; and with that and a rate
        ({"preset": "starter", "overrides": {"model.path": LARGE}}, 1e-6, 400),
        ({"preset": "starter", "overrides": {"model.path": LARGE, "optimizer.learning_rate": 3e-6}}, 3e-6, 400),
    ],
)
def test_what_is_not_given_has_the_default_for_the_size_of_the_model(
    browser: Client, body: dict[str, Any], rate: float, tokens: int
) -> None:
    answer = launch(browser, body).json()
    config = answer["config"]
    assert (config["optimizer"]["learning_rate"], config["environments"][0]["max_response_tokens"]) == (rate, tokens)
    shown = {one["field"]: (one["value"], one["instead_of"]) for one in answer["sized_defaults"]}
    assert shown.get("optimizer.learning_rate") == ((1e-6, 2e-4) if rate == 1e-6 else None)
    assert shown.get("environments.0.max_response_tokens") == ((400, 40) if tokens == 400 else None)


def test_the_environment_of_the_site_keeps_its_response_length(browser: Client, lake: EnvironmentVersion) -> None:
    body = {"preset": "starter", "environment": "Lake", "overrides": {"model.path": LARGE}}
    assert launch(browser, body).json()["config"]["environments"] == [lake.config]


def test_an_environment_of_the_site_is_used_and_linked(browser: Client, lake: EnvironmentVersion) -> None:
    run = Run.objects.get(pk=launch(browser, {"preset": "grpo", "environment": "Lake"}).json()["id"])
    assert run.environment_version == lake
    assert run.config["environments"] == [lake.config]


@pytest.mark.parametrize(
    ("body", "field", "says"),
    [
        ({}, "", "none of them was sent"),
        ({"preset": "starter", "toml": "steps = 3"}, "", "preset and toml was sent"),
        ({"preset": "stater"}, "preset", "starter"),
        ({"toml": "steps ="}, "toml", "not TOML"),
        ({"config": {"steps": 0}}, "steps", "1 or more"),
        ({"config": {"stepz": 3}}, "stepz", ""),
        ({"preset": "starter", "overrides": {"loss.clip_hi": 3}}, "loss.clip_hi", ""),
        ({"preset": "starter", "overrides": {"environments.7.kind": "bandit"}}, "overrides", "environments.7.kind"),
        ({"preset": "starter", "overrides": {"model.path": "/no/such/model"}}, "model.path", "/no/such/model"),
        ({"preset": "starter", "environment": "Ocean"}, "environment", "Ocean"),
        ({"preset": "starter", "nmae": "x"}, "nmae", "Allowed: preset, config"),
        ({"preset": "starter", "name": "a\0b"}, "name", "NUL"),
        ({"config": []}, "config", ""),
    ],
)
def test_what_cannot_run_is_refused_at_its_field(body: object, field: str, says: str, browser: Client) -> None:
    answer = launch(browser, body)
    assert answer.status_code == 422, answer.json()
    assert field in answer.json()["errors"]
    assert says in answer.json()["errors"][field]
    assert not Run.objects.exists()


def test_only_an_administrator_names_a_class(browser: Client, user: User, monkeypatch: pytest.MonkeyPatch) -> None:
    body = {"config": {"environments": [{"kind": "antigravity:Environment", "tag": "x"}]}}
    monkeypatch.setitem(__import__("sys").modules, "antigravity", None)  # its import would fail with another error
    answer = launch(browser, body)
    assert list(answer.json()["errors"]) == ["environments.0.kind"]
    assert "Only an administrator" in answer.json()["error"]


def test_only_an_administrator_lets_an_environment_reach_a_server(browser: Client, user: User) -> None:
    body = {"config": {"environments": [{"kind": "http", "tag": "x", "parameters": {"url": "http://10.0.0.1/"}}]}}
    answer = launch(browser, body)
    assert answer.status_code == 422
    assert "Only an administrator" in answer.json()["error"]


def test_the_same_key_and_body_give_the_same_run(browser: Client) -> None:
    first, second = (launch(browser, {"preset": "starter"}, key="k-1") for _ in range(2))
    assert (first.status_code, second.status_code) == (201, 201)
    assert first.json() == second.json()
    assert second["Idempotency-Replayed"] == "true"
    assert Run.objects.count() == 1


def test_the_same_key_with_another_body_is_refused(browser: Client) -> None:
    launch(browser, {"preset": "starter"}, key="k-1")
    answer = launch(browser, {"preset": "collapse"}, key="k-1")
    assert answer.status_code == 422
    assert "another body" in answer.json()["error"]
    assert Run.objects.count() == 1


def test_a_refused_request_can_be_corrected_under_its_key(browser: Client) -> None:
    assert launch(browser, {"preset": "starter", "overrides": {"steps": 0}}, key="k-1").status_code == 422
    assert launch(browser, {"preset": "starter", "overrides": {"steps": 5}}, key="k-1").status_code == 201


def test_keys_of_two_users_have_nothing_in_common(browser: Client) -> None:
    launch(browser, {"preset": "starter"}, key="k-1")
    other = Client()
    other.force_login(a_member("eve"))
    assert launch(other, {"preset": "collapse"}, key="k-1").status_code == 201
    assert Run.objects.count() == 2


def test_a_key_is_forgotten_after_a_day(browser: Client) -> None:
    launch(browser, {"preset": "starter"}, key="k-1")
    IdempotentRequest.objects.update(created_at=timezone.now() - timedelta(hours=25))
    assert launch(browser, {"preset": "starter"}, key="k-1").status_code == 201
    assert Run.objects.count() == 2


@pytest.mark.parametrize("key", ["", "x" * 201, "tab\there"])
def test_an_unusable_key_is_refused(key: str, browser: Client) -> None:
    assert launch(browser, {"preset": "starter"}, key=key).status_code == 400
    assert not Run.objects.exists()
