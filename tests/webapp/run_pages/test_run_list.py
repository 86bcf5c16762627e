"""The list of runs: its rows, filters in the URL, pages without overlap, and actions on selected runs."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from tests.webapp.runs.rows import a_run, report
from webapp.run_pages.arrangement import PAGE
from webapp.run_pages.listing import spark_path
from webapp.runs.models import Run
from webapp.runs.states import RunState

pytestmark = pytest.mark.django_db

LIST = "/runs/"


def names_on(browser: Client, query: str = "") -> list[str]:
    return [row.run.name for row, _ in browser.get(LIST + query).context["rows"]]


def test_a_new_user_is_offered_two_presets(browser: Client) -> None:
    page = browser.get(LIST).content.decode()
    assert "Start the starter run" in page
    assert "Watch a collapse" in page


def test_a_row_shows_state_progress_and_a_sparkline(browser: Client) -> None:
    run = a_run(steps=4)
    report(run, 0.0, 1.0)
    page = browser.get(LIST).content.decode()
    assert "chip--running" in page
    assert "2/4" in page
    assert 'value="0.5000"' in page
    # two points across 84 pixels; success 0 is 21 pixels and success 1 is 1 pixel from the top
    assert 'd="M0.0,21.0 L84.0,1.0"' in page


def test_a_row_shows_that_a_run_is_restarting_after_a_failure(browser: Client) -> None:
    run = a_run(state=RunState.QUEUED)
    words = "Starts again 5 s after the fault: restart 1 of 3"
    Run.objects.filter(pk=run.pk).update(restart_pause=5, wait_reason=words)
    page = browser.get(LIST).content.decode()
    assert "Restarting" in page
    assert words in page


def test_owners_are_shown_if_runs_have_several(browser: Client) -> None:
    mine, _ = a_run("mine"), a_run("other")
    Run.objects.update(owner=User.objects.create_user("hopper"))
    assert ">Owner<" not in browser.get(LIST).content.decode()
    Run.objects.filter(pk=mine.pk).update(owner=User.objects.create_user("grace"))
    assert ">Owner<" in browser.get(LIST).content.decode()
    for address in (LIST, f"{LIST}rows/"):
        page = browser.get(address).content.decode()
        assert '<td class="run-wide">grace</td>' in page
        assert '<td class="run-wide">hopper</td>' in page


def test_a_single_point_has_no_sparkline() -> None:
    assert spark_path([0.5]) == ""


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("", ["failed", "finished", "running", "queued"]),
        ("?show=live", ["running", "queued"]),
        ("?show=finished", ["finished"]),
        ("?show=ended", ["failed"]),
        ("?q=RUN", ["running"]),
        ("?show=nonsense", ["failed", "finished", "running", "queued"]),
    ],
)
def test_filters_are_in_the_url(browser: Client, query: str, expected: list[str]) -> None:
    for state in (RunState.QUEUED, RunState.RUNNING, RunState.FINISHED, RunState.FAILED):
        a_run(state.value, state)
    assert names_on(browser, query) == expected


def test_every_run_is_on_exactly_one_page(browser: Client) -> None:
    for number in range(PAGE + 3):
        a_run(f"run {number}")
    first = browser.get(LIST)
    second = browser.get(LIST + first.context["older"])
    shown = [row.run.pk for page in (first, second) for row, _ in page.context["rows"]]
    assert len(shown) == len(set(shown)) == PAGE + 3
    assert second.context["older"] == ""


def test_archived_runs_are_listed_separately(browser: Client) -> None:
    gone, kept = a_run("gone", RunState.FINISHED), a_run("kept", RunState.FINISHED)
    browser.post("/runs/bulk/", {"action": "archive", "run": [gone.pk]})
    assert names_on(browser) == [kept.name]
    assert names_on(browser, "?archived=1") == [gone.name]
    browser.post("/runs/bulk/", {"action": "unarchive", "run": [gone.pk]})
    assert set(names_on(browser)) == {"gone", "kept"}


def test_a_search_in_the_archive_stays_in_the_archive(browser: Client) -> None:
    a_run("kept", RunState.FINISHED)
    kept = '<input type="hidden" name="archived" value="1">'
    assert kept in browser.get(LIST + "?archived=1").content.decode()
    assert kept not in browser.get(LIST).content.decode()


def test_selected_runs_are_stopped_together(browser: Client) -> None:
    waiting, live, done = a_run("a", RunState.QUEUED), a_run("b"), a_run("c", RunState.FINISHED)
    answer = browser.post("/runs/bulk/", {"action": "stop", "run": [waiting.pk, live.pk, done.pk]}, follow=True)
    assert "Requested a stop of 2 of 3 runs." in answer.content.decode()
    states = dict(Run.objects.values_list("name", "state"))
    assert states == {"a": RunState.STOPPED, "b": RunState.STOPPING, "c": RunState.FINISHED}


def test_selected_runs_open_the_compare_page(browser: Client) -> None:
    one, two = a_run("a"), a_run("b")
    answer = browser.post("/runs/bulk/", {"action": "compare", "run": [one.pk, two.pk]})
    assert answer["Location"] == f"/compare/?runs={one.pk},{two.pk}"


def test_a_bulk_action_without_selected_runs_shows_a_warning(browser: Client) -> None:
    a_run()
    assert "Select at least one run." in browser.post("/runs/bulk/", {"action": "stop"}, follow=True).content.decode()


def test_an_unknown_action_is_refused(browser: Client) -> None:
    answer = browser.post("/runs/bulk/", {"action": "forget", "run": [a_run().pk]})
    assert answer.status_code == 400


def test_the_rows_endpoint_applies_the_same_filters(browser: Client) -> None:
    a_run("going-on")
    a_run("long-over", RunState.FINISHED)
    page = browser.get("/runs/rows/?show=live").content.decode()
    assert "going-on" in page
    assert "long-over" not in page
    assert "<html" not in page


def test_a_full_page_takes_as_many_queries_as_one_row(browser: Client) -> None:
    runs = [a_run(f"run {number}", steps=9) for number in range(PAGE)]
    for number, run in enumerate(runs):
        report(run, *[0.0, number / PAGE, 1.0][number % 3 :])
    with CaptureQueriesContext(connection) as of_many:
        page = browser.get("/runs/rows/").context["rows"]
    with CaptureQueriesContext(connection) as of_one:
        browser.get("/runs/rows/?q=run 17")
    assert len(page) == PAGE
    assert len(of_many) == len(of_one)
    # each has the curve of its own steps: the last has two, at 49/50 and 1; the one before it all three
    assert [row.spark for row, _ in page[:2]] == [spark_path([49 / PAGE, 1.0]), spark_path([0.0, 48 / PAGE, 1.0])]


def test_a_preset_starts_with_one_click(browser: Client) -> None:
    answer = browser.post("/runs/quick-start/", {"preset": "starter"})
    run = Run.objects.get()
    assert answer["Location"] == f"/runs/{run.pk}/"
    assert run.state == RunState.QUEUED
    assert run.owner is not None


def test_an_unknown_preset_is_refused(browser: Client) -> None:
    assert browser.post("/runs/quick-start/", {"preset": "../../etc/passwd"}).status_code == 400
    assert not Run.objects.exists()


@pytest.mark.parametrize(("method", "path"), [("post", LIST), ("get", "/runs/bulk/"), ("get", "/runs/quick-start/")])
def test_other_http_methods_are_refused(browser: Client, method: str, path: str) -> None:
    assert getattr(browser, method)(path).status_code == 405


def test_an_anonymous_user_is_redirected_to_sign_in(client: Client) -> None:
    assert client.get(LIST)["Location"].startswith("/accounts/login/")
