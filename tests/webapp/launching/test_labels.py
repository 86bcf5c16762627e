"""Project, tags and priority in the form of a new run."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from tests.hostile import STORABLE
from tests.webapp.launching.test_new_run import CHECK, NEW, filled_in
from tests.webapp.runs.rows import a_run
from webapp.environments.models import EnvironmentVersion
from webapp.runs.labels import label
from webapp.runs.models import Run
from webapp.runs.queue import waiting

pytestmark = pytest.mark.django_db


def launch(browser: Client, lake: EnvironmentVersion, name: str, **labels: str) -> Any:
    return browser.post(NEW, {**filled_in(lake), "name": name, **labels})


def test_a_launch_gives_its_runs_a_project_and_tags(browser: Client, lake: EnvironmentVersion) -> None:
    browser.post(NEW, {**filled_in(lake, seed="1-2"), "project": " lakes ", "tags": "#baseline, long,baseline"})
    runs = Run.objects.all()
    assert [run.project.name for run in runs] == ["lakes", "lakes"]
    assert [sorted(tag.name for tag in run.tags.all()) for run in runs] == [["baseline", "long"]] * 2


def test_runs_start_by_the_priority_they_were_launched_with(browser: Client, lake: EnvironmentVersion) -> None:
    for name, priority in (("a", "low"), ("b", "normal"), ("c", "high"), ("d", "high"), ("e", "")):
        launch(browser, lake, name, priority=priority)
    assert [run.name for run in waiting()] == ["c", "d", "b", "e", "a"]


@pytest.mark.parametrize(
    ("field", "text", "error"),
    [
        ("priority", "urgent", "'urgent' is not a priority. Use high, normal or low."),
        ("project", "x" * 81, "must have at most 80 characters, got 81"),
        ("project", "a\0b", "has characters that cannot be stored. Leave them out."),
        ("tags", f"a, {'x' * 41}", "One of them has 41 characters. Tags have at most 40; separate them by commas."),
        ("tags", ",".join(map(str, range(21))), "21 tags are too many. Give at most 20."),
        ("tags", "a\0b", "has characters that cannot be stored. Leave them out."),
    ],
)
def test_what_is_wrong_is_said_at_its_field(
    browser: Client, lake: EnvironmentVersion, field: str, text: str, error: str
) -> None:
    assert browser.post(CHECK, {**filled_in(lake), field: text}).json()["errors"] == {field: error}
    refused = launch(browser, lake, "a", **{field: text})
    assert (refused.status_code, refused.context["errors"]) == (422, {field: error})
    assert '<details class="launch-labels" open>' in refused.content.decode()
    assert not Run.objects.exists()


def test_a_clone_begins_with_the_project_and_the_tags_of_its_source(browser: Client, user: User) -> None:
    source = a_run(name="calm-otter")
    label(source, user, project="lakes", tags=["long", "baseline"])
    labels = browser.get(f"{NEW}?clone={source.pk}").context["labels"]
    assert (labels.project, labels.tags, labels.priority) == ("lakes", "baseline, long", "normal")


@pytest.mark.parametrize("text", [text for text in STORABLE if text][:6])
def test_labels_are_text(browser: Client, lake: EnvironmentVersion, text: str) -> None:
    page = browser.get(NEW, {"project": text, "tags": text, "priority": text}).content.decode()
    assert "<script>alert" not in page
