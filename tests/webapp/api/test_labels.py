"""Project, tags and notes of runs, read and written through the API."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from tests.webapp.runs.rows import a_run
from webapp.api.openapi import openapi
from webapp.audit.models import AuditEntry
from webapp.runs.labels import LONGEST_TAG, MOST_TAGS, label
from webapp.runs.models import Run

pytestmark = pytest.mark.django_db


def send(browser: Client, run: Run, body: object) -> Any:
    return browser.post(f"/api/v1/runs/{run.pk}/labels", json.dumps(body), content_type="application/json")


def test_what_is_sent_is_set_and_the_rest_stays(browser: Client) -> None:
    run = a_run()
    first = send(browser, run, {"project": "lakes", "tags": ["new", "baseline"], "notes": "The first."}).json()
    assert (first["project"], first["tags"], first["notes"]) == ("lakes", ["baseline", "new"], "The first.")
    second = send(browser, run, {"tags": []}).json()
    assert (second["project"], second["tags"], second["notes"]) == ("lakes", [], "The first.")
    assert [entry.action for entry in AuditEntry.objects.filter(run=run)] == ["label"] * 3  # the move is one of its own
    detail = browser.get(f"/api/v1/runs/{run.pk}/").json()
    properties = openapi()["components"]["schemas"]["RunSummary"]["properties"]
    assert {"project", "tags", "notes"} <= set(detail) & set(properties)


def test_runs_are_listed_by_project_and_by_tag(browser: Client, user: User) -> None:
    one, other = a_run("one"), a_run("other")
    label(one, user, project="lakes", tags=["baseline"])
    label(other, user, project="lakes")

    def names(query: str) -> list[str]:
        return [run["name"] for run in browser.get(f"/api/v1/runs/?{query}").json()["runs"]]

    assert names("project=lakes") == ["other", "one"]
    assert names("project=lakes&tag=baseline") == ["one"]
    assert names("project=none") == []


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, ""),
        ({"owner": "ada"}, "owner"),
        ({"project": 3}, "project"),
        ({"project": "x" * 81}, "project"),
        ({"notes": "a\0b"}, "notes"),
        ({"notes": "\ud800"}, "notes"),
        ({"tags": "one, two"}, "tags"),
        ({"project": None}, "project"),
        ({"tags": ["one, two"]}, "tags"),
        ({"tags": [" "]}, "tags"),
        ({"tags": ["x" * (LONGEST_TAG + 1)]}, "tags"),
        ({"tags": [str(number) for number in range(MOST_TAGS + 1)]}, "tags"),
    ],
)
def test_what_cannot_be_stored_is_refused_at_its_field(body: object, field: str, browser: Client) -> None:
    run = a_run()
    answer = send(browser, run, body)
    assert answer.status_code == 422
    assert list(answer.json()["errors"]) == [field]
    run.refresh_from_db()
    assert (run.project.name, run.notes, run.tags.count()) == ("Default", "", 0)
