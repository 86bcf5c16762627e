"""Settings of a live run changed through the API: validated and audited as on the form, with clear refusals."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from tests.webapp.runs.rows import a_run
from webapp.api.openapi import openapi
from webapp.audit.models import AuditEntry
from webapp.runs.models import Run
from webapp.runs.states import RunState

pytestmark = pytest.mark.django_db


@pytest.fixture
def api(client: Client) -> Client:
    client.force_login(User.objects.create_user("ada"))
    return client


def change(api: Client, run: Run, body: object) -> Any:
    text = body if isinstance(body, str) else json.dumps(body)
    return api.post(f"/api/v1/runs/{run.pk}/settings", text, content_type="application/json")


def test_a_change_is_requested_and_recorded_with_its_author(api: Client) -> None:
    run = a_run()
    answer = change(api, run, {"changes": {"optimizer.learning_rate": 1e-5}, "revision": 0})
    assert answer.status_code == 200
    assert answer.json()["changes"] == {"optimizer.learning_rate": {"old": 2e-4, "new": 1e-5}}
    held = {"revision": 1, "changes": {"optimizer.learning_rate": 1e-5}}
    assert answer.json()["run"]["settings"] == held
    entry = AuditEntry.objects.get(run=run)
    assert (entry.who, entry.action, entry.outcome) == ("ada", "settings", "done")
    assert set(answer.json()) == set(openapi()["components"]["schemas"]["ChangedSettings"]["properties"])


def test_an_invalid_change_is_refused_at_its_field_and_recorded(api: Client) -> None:
    run = a_run()
    answer = change(api, run, {"changes": {"optimizer.learning_rate": 0}})
    assert answer.status_code == 422
    assert "greater than 0" in answer.json()["errors"]["optimizer.learning_rate"]
    assert set(answer.json()) == set(openapi()["components"]["schemas"]["ProblemAnswer"]["properties"])
    assert AuditEntry.objects.get(run=run).outcome == "refused"
    run.refresh_from_db()
    assert run.settings_revision == 0


def test_an_unknown_field_is_named_and_escaped(api: Client) -> None:
    answer = change(api, a_run(), {"changes": {"step\x01s": 4}})
    assert answer.status_code == 422
    assert "'step\\x01s' cannot be changed" in answer.json()["error"]


def test_a_concurrent_change_of_settings_is_not_overwritten(api: Client) -> None:
    run = a_run()
    change(api, run, {"changes": {"optimizer.learning_rate": 1e-5}})
    late = change(api, run, {"changes": {"optimizer.learning_rate": 1e-6}, "revision": 0})
    assert late.status_code == 409
    assert "in the meantime" in late.json()["error"]


def test_a_run_that_has_ended_is_a_conflict(api: Client) -> None:
    answer = change(api, a_run(state=RunState.FINISHED), {"changes": {"optimizer.learning_rate": 1e-5}})
    assert answer.status_code == 409
    assert "Fork it" in answer.json()["error"]


@pytest.mark.parametrize("body", ["", "{", "[]", "[" * 100_000])
def test_a_body_that_is_no_json_object_is_refused_with_an_example(body: str, api: Client) -> None:
    answer = change(api, a_run(), body)
    assert answer.status_code == 400
    assert "optimizer.learning_rate" in answer.json()["remedy"]


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "changes"),
        ({"revision": 1}, "changes"),
        ({"changes": []}, "changes"),
        ({"changes": {}, "revision": "1"}, "revision"),
        ({"changes": {}, "step": 3}, "step"),
    ],
)
def test_a_body_with_other_fields_is_refused_at_them(body: object, field: str, api: Client) -> None:
    answer = change(api, a_run(), body)
    assert answer.status_code == 422
    assert list(answer.json()["errors"]) == [field]
