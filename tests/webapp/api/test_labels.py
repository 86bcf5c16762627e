"""Project, tags and notes of runs, read and written through the API."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import DatabaseError
from django.test import Client

from tests.webapp.members.people import a_member, a_project, join
from tests.webapp.refused_rows import refuse_rows
from tests.webapp.runs.rows import a_run
from webapp.api.openapi import openapi
from webapp.audit.models import AuditEntry
from webapp.projects.models import Project, Role
from webapp.runs.labels import LONGEST_TAG, MOST_TAGS, label
from webapp.runs.models import Run, RunTag

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


def test_a_run_is_not_moved_if_its_tags_cannot_be_stored(browser: Client) -> None:
    run = a_run()
    refuse_rows(RunTag._meta.db_table)
    with pytest.raises(DatabaseError):
        browser.post(f"/runs/{run.pk}/labels/", {"project": "lakes", "tags": "baseline", "notes": "The first."})
    run.refresh_from_db()
    assert (run.project.name, run.notes) == ("Default", "")
    assert not Project.objects.filter(name="lakes").exists()
    assert not AuditEntry.objects.filter(run=run).exists()


def test_an_editor_who_may_not_move_a_run_leaves_no_new_project_behind(client: Client) -> None:
    run = a_run()
    client.force_login(a_member("bo", Role.EDITOR))
    assert send(client, run, {"project": "lakes", "tags": ["baseline"]}).status_code == 403
    assert not Project.objects.filter(name="lakes").exists()
    assert not run.tags.exists()


def test_of_the_runs_in_a_list_none_is_moved_if_one_may_not_be(client: Client) -> None:
    bo = a_member("bo", Role.ADMIN)
    join(bo, Role.EDITOR, lakes := a_project("Lakes"))
    theirs, own = a_run("theirs"), a_run("own")  # the newest is moved first
    Run.objects.filter(pk=theirs.pk).update(project=lakes)
    client.force_login(bo)
    answer = client.post("/runs/bulk/", {"action": "project", "project": "rivers", "run": f"{own.pk},{theirs.pk}"})
    assert answer.status_code == 403
    own.refresh_from_db()
    assert own.project.name == "Default"


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
