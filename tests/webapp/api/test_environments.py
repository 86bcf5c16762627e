"""Environments, pre-flights and projects by programs, checked as the forms check."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.test import Client

from tests.webapp.members.people import a_member
from webapp.audit.models import AuditEntry
from webapp.environments.models import EnvironmentDefinition, EnvironmentVersion
from webapp.projects.models import Role

pytestmark = pytest.mark.django_db

SMALL = {"kind": "frozen_lake", "parameters": {"size": 3}}


def post(browser: Client, path: str, body: object) -> Any:
    return browser.post(f"/api/v1/{path}", json.dumps(body), content_type="application/json")


def test_an_environment_is_defined_edited_and_archived(browser: Client) -> None:
    answer = post(browser, "environments/", {"name": "Small lakes", "config": SMALL})
    assert answer.status_code == 201, answer.json()
    made = answer.json()
    assert (made["kind"], made["version"], made["config"]["tag"]) == ("frozen_lake", 1, "Small lakes")
    path = f"environments/{made['id']}/"
    edited = post(browser, path, {"config": {"parameters": {"size": 5}}, "name": "Lakes of five"}).json()
    assert (edited["name"], edited["version"], edited["config"]["tag"]) == ("Lakes of five", 1, "Small lakes")
    assert edited["config"]["parameters"] == {"size": 5}
    assert [one["name"] for one in browser.get("/api/v1/environments/").json()["environments"]] == ["Lakes of five"]
    assert post(browser, f"{path}archive", {"archived": True}).json()["archived"] is True
    assert browser.get("/api/v1/environments/").json()["environments"] == []
    assert len(browser.get("/api/v1/environments/", {"archived": "1"}).json()["environments"]) == 1
    actions = AuditEntry.objects.order_by("pk").values_list("action", flat=True)
    assert list(actions) == ["create", "edit", "hide"]


def test_a_version_that_a_run_used_stays_as_it_is(browser: Client, lake: EnvironmentVersion) -> None:
    assert post(browser, "runs/", {"preset": "grpo", "environment": "Lake"}).status_code == 201
    definition = lake.definition
    edited = post(browser, f"environments/{definition.pk}/", {"config": SMALL}).json()
    assert [one["number"] for one in edited["versions"]] == [2, 1]
    assert edited["versions"][1]["config"] == lake.config


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"name": "", "config": SMALL}, "name"),
        ({"name": "Lake", "config": SMALL}, "name"),  # taken
        ({"name": "x" * 61, "config": SMALL}, "name"),
        ({"name": "a", "config": {"kind": "no_such"}}, "config"),
        ({"name": "a", "config": {**SMALL, "no_such": 1}}, "config.no_such"),
        ({"name": "a", "config": {"kind": "frozen_lake", "parameters": {"size": -1}}}, "config"),
        ({"name": "a", "config": {"kind": "os:system"}}, "config.kind"),
        ({"name": "a", "config": {"kind": "http"}}, "config.kind"),  # reaches servers
    ],
)
def test_what_is_no_environment_is_refused_at_its_field(
    browser: Client, lake: EnvironmentVersion, body: object, field: str
) -> None:
    answer = post(browser, "environments/", body)
    assert answer.status_code == 422
    assert any(name.startswith(field) for name in answer.json()["errors"]), answer.json()
    assert EnvironmentDefinition.objects.count() == 1


def test_an_environment_keeps_its_kind(browser: Client, lake: EnvironmentVersion) -> None:
    answer = post(browser, f"environments/{lake.definition_id}/", {"config": {"kind": "bandit"}})
    assert "The kind is 'frozen_lake' and cannot be changed" in answer.json()["errors"]["config.kind"]


def test_a_preflight_is_queued_read_and_stopped_by_editors(
    browser: Client, client: Client, lake: EnvironmentVersion
) -> None:
    path = f"environments/{lake.definition_id}/preflights"
    answer = post(browser, path, {"player": "scripted", "problems": 2, "rollouts": 3})
    assert answer.status_code == 202, answer.json()
    made = answer.json()
    assert (made["state"], made["problems"], made["rollouts"], made["report"]) == ("queued", 2, 3, None)
    assert post(browser, path, {}).status_code == 409  # one at a time
    assert browser.get(f"/api/v1/preflights/{made['id']}/").json() == made
    assert post(browser, f"preflights/{made['id']}/stop", {}).json()["state"] == "stopped"
    client.force_login(a_member("bob", Role.VIEWER))
    assert post(client, path, {}).status_code == 403


def test_projects_are_listed_with_one_s_role_and_created(browser: Client) -> None:
    answer = post(browser, "projects/", {"name": "Lakes", "description": "Frozen ones."})
    assert (answer.status_code, answer.json()["slug"], answer.json()["role"]) == (201, "lakes", "admin")
    post(browser, "runs/", {"preset": "grpo", "project": "lakes"})
    found = {one["slug"]: one for one in browser.get("/api/v1/projects/").json()["projects"]}
    assert (found["lakes"]["runs"], found["lakes"]["description"]) == (1, "Frozen ones.")
    assert post(browser, "projects/", {"name": "  "}).json()["errors"]["name"] == "A project needs a name."


@pytest.mark.parametrize("given", [False, "8", 8.5, None, [8]])
def test_a_number_in_a_body_is_a_json_number(browser: Client, lake: EnvironmentVersion, given: object) -> None:
    answer = post(browser, f"environments/{lake.definition_id}/preflights", {"problems": given})
    assert answer.status_code == 422
    assert list(answer.json()["errors"]) == ["problems"]
