"""Projects, tags and notes of runs: edited on the run's page and for many runs at once; searched and filtered by."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from django.test import Client

from tests.webapp.run_pages.listed import LIST, names_on
from tests.webapp.runs.rows import a_run
from webapp.audit.services import entries
from webapp.environments.models import EnvironmentVersion
from webapp.runs import services
from webapp.runs.labels import MOST_TAGS, label, parse_tags
from webapp.runs.models import Run

pytestmark = pytest.mark.django_db


def tags_of(run: Run) -> list[str]:
    return list(run.tags.values_list("name", flat=True))


def test_the_page_of_a_run_edits_its_labels(browser: Client) -> None:
    run = a_run()
    given = {"project": " Thesis ", "tags": "sweep, #lr,,sweep", "notes": "Reward too sparse?"}
    page = browser.post(f"/runs/{run.pk}/labels/", given, follow=True).content.decode()
    run.refresh_from_db()
    assert (run.project.name, tags_of(run), run.notes) == ("Thesis", ["lr", "sweep"], "Reward too sparse?")
    assert "#sweep" in page
    assert 'value="lr, sweep"' in page
    assert [entry["detail"] for entry in entries(run)] == [
        "tags none → lr, sweep; notes edited",
        "project Default → Thesis",
    ]
    browser.post(f"/runs/{run.pk}/labels/", {"tags": ""})
    assert tags_of(run) == []
    assert Run.objects.get(pk=run.pk).project.name == "Thesis"  # what is not sent stays


def test_labels_are_escaped_and_hidden_characters_are_named(browser: Client, user: User) -> None:
    run = a_run()
    label(run, user, project="<b>p</b>", tags=["<i>\u202etag"], notes="<script>n")
    for address in (LIST, f"{LIST}?columns=name,project,notes", f"/runs/{run.pk}/"):
        page = browser.get(address).content.decode()
        assert "<i>\u202etag" not in page
        assert "<b>p" not in page
        assert "<script>n" not in page
        assert "&lt;i&gt;[RLO]tag" in page


def test_tags_are_counted_once_and_limited() -> None:
    assert parse_tags("a,b, a ,#c") == ["a", "b", "c"]
    assert len(parse_tags(",".join(map(str, range(99))))) == MOST_TAGS
    assert parse_tags("x" * 99) == ["x" * 40]


def test_ticked_runs_get_tags_and_a_project_together(browser: Client) -> None:
    one, other = a_run("one"), a_run("other")
    picked = [one.pk, other.pk]
    page = browser.post("/runs/bulk/", {"action": "tag", "tags": "sweep, lr", "run": picked}, follow=True)
    assert "Tagged 2 runs." in page.content.decode()
    browser.post("/runs/bulk/", {"action": "untag", "tags": "lr", "run": [other.pk]})
    browser.post("/runs/bulk/", {"action": "project", "project": "Thesis", "run": [other.pk]})
    assert (tags_of(one), tags_of(other)) == (["lr", "sweep"], ["sweep"])
    assert names_on(browser, "?tag=sweep&tag=lr") == ["one"]
    assert names_on(browser, "?project=Thesis") == ["other"]
    assert names_on(browser, "?project=default") == ["one"]
    page = browser.post("/runs/bulk/", {"action": "tag", "tags": " , ", "run": picked}, follow=True)
    assert "Enter one or more tags" in page.content.decode()


def test_an_action_returns_to_the_list_as_it_was_shown(browser: Client) -> None:
    run = a_run()
    given = {"action": "project", "project": "Thesis", "run": run.pk, "back": "sort=-name&tag=a&next=//evil.example"}
    assert browser.post("/runs/bulk/", given)["Location"] == "/runs/?sort=-name&tag=a&next=%2F%2Fevil.example"


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("heron", True),
        ("HERON bold", True),
        ("bold calm", False),  # every word must be there
        ("sparse", True),  # in the notes
        ("swe", True),  # in a tag
        ("straße", True),  # in the project
        ("lake", True),  # the environment
        ("dapo", True),
        ("tiny-hero", True),  # the model
        ("100%", False),
        ("_", False),  # no wildcard
    ],
)
def test_a_search_finds_words_wherever_they_are(
    browser: Client, user: User, lake: EnvironmentVersion, words: str, found: bool
) -> None:
    run = a_run("Bold-Heron")
    run.environment_version, run.preset, run.config["model"]["path"] = lake, "DAPO", "models/tiny-hero"
    run.save()
    label(run, user, project="Straße", tags=["sweep"], notes="Reward too sparse?")
    assert [row.run.name for row, _ in browser.get(LIST, {"q": words}).context["rows"]] == ["Bold-Heron"] * found


def test_a_renamed_run_is_found_by_its_new_name_only_and_by_its_whole_id(browser: Client) -> None:
    run = a_run("before")
    services.rename(run, "afterwards")
    assert names_on(browser, "?q=afterw") == ["afterwards"]
    assert names_on(browser, "?q=before") == []
    assert names_on(browser, f"?q={run.pk}") == ["afterwards"]
