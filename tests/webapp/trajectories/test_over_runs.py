"""The list over all runs: the list of one run, with the run as a further column and filter."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from tests.builders.runs import build_run
from tests.builders.trajectories import record_steps
from tests.webapp.security.page_reader import read_page
from webapp.runs.models import Alert, Run
from webapp.runs.services import archive, rename
from webapp.trajectories import over_runs
from webapp.trajectories.filters import read_filters
from webapp.trajectories.models import LostTrajectory, Trajectory
from webapp.trajectories.paging import COLUMNS, NEWEST_OF_ALL, page_of, read_sort

SORTS = [*COLUMNS, *(f"-{name}" for name in COLUMNS)]
on_sqlite = pytest.mark.skipif("sqlite" not in connection.settings_dict["ENGINE"], reason="plans are SQLite's")


@pytest.fixture
def other(run: Run, rows: list[Trajectory]) -> Run:
    """A second run, of one step with 2 groups x 4 members, recorded after the 32 rows of `run`."""
    other = build_run(name="Brave Lemur, second try")
    record_steps(other, other.parsed_config().environments[0], steps=range(1, 2), groups=2)
    return other


def found(query: dict[str, str]) -> set[str]:
    """The run ids of the rows found."""
    return set(read_filters(query).apply(Trajectory.objects.all()).values_list("run__name", flat=True))


def test_trajectories_of_all_runs_are_listed_with_their_run(browser: Client, run: Run, other: Run) -> None:
    page = browser.get("/trajectories/")
    text = page.content.decode()
    assert page.context["counts"].total == 40
    assert "40 of 40 trajectories" in text
    for one in (run, other):
        assert f'href="/runs/{one.pk}/" title="{one.name}">{one.name}</a>' in text
    newest = other.trajectories.order_by("pk").last()
    assert newest is not None
    assert text.index(f"/runs/{other.pk}/trajectories/{newest.pk}/") < text.index(f"/runs/{run.pk}/trajectories/")


def test_an_archived_run_is_found_and_marked(browser: Client, other: Run) -> None:
    archive(other, None)
    assert '<span class="muted">archived</span>' in browser.get(f"/trajectories/?run={other.pk}").content.decode()


def test_an_empty_list_explains_where_trajectories_come_from(browser: Client, run: Run) -> None:
    assert "No trajectories yet" in browser.get("/trajectories/").content.decode()


def test_runs_are_selected_by_name_or_substring(run: Run, other: Run) -> None:
    assert found({"run": "CALM-otter"}) == {run.name}
    assert found({"run": "lemur"}) == {other.name}
    assert found({"run": "brave lemur, second try"}) == {other.name}  # the whole name, including its comma
    assert found({"run": "calm-otter, lemur"}) == {run.name, other.name}
    assert found({"run": "e"}) == {run.name, other.name}


def test_runs_are_selected_by_id(run: Run, other: Run) -> None:
    assert found({"run": other.pk}) == {other.name}
    assert found({"run": f"{other.pk},{run.pk}"}) == {run.name, other.name}


def test_an_exact_name_does_not_match_names_that_contain_it(run: Run, other: Run) -> None:
    rename(other, "calm-otter-2")
    assert found({"run": "calm-otter"}) == {"calm-otter"}


def test_an_unknown_name_is_reported_and_matches_nothing(browser: Client, run: Run, other: Run) -> None:
    filters = read_filters({"run": "nobody, lemur"})
    assert filters.problems == ["No run has the id 'nobody' or a name that contains it."]
    assert found({"run": "nobody, lemur"}) == {other.name}
    assert found({"run": "nobody"}) == set()
    assert "No trajectory of any run matches" in browser.get("/trajectories/?run=nobody").content.decode()


def test_the_list_of_one_run_ignores_a_run_filter(browser: Client, run: Run, other: Run) -> None:
    page = browser.get(f"/runs/{run.pk}/trajectories/?run={other.pk}")
    assert page.context["counts"].total == 32
    assert "run" not in page.context["filters"].values


def test_text_is_searched_in_the_selected_runs(run: Run, other: Run) -> None:
    assert found({"q": "hole"}) == {run.name, other.name}
    assert found({"q": "hole", "run": "lemur"}) == {other.name}
    assert found({"q": "hole", "run": "calm-otter, lemur"}) == {run.name, other.name}


def test_environment_and_alert_filters_apply_across_runs(run: Run, other: Run) -> None:
    other.trajectories.update(environment="Thin ice")
    Alert.objects.create(run=run, seq=1, step=2, time=1.0, rule="entropy", severity="warn", message="")
    assert found({"environment": "Thin ice"}) == {other.name}
    spoken = read_filters({"alert": "entropy"}).apply(Trajectory.objects.all())
    assert set(spoken.values_list("run", "step")) == {(run.pk, 2)}


def test_the_form_offers_values_of_all_runs(browser: Client, run: Run, other: Run) -> None:
    other.trajectories.update(environment="Thin ice", stop="max_turns")
    Alert.objects.create(run=run, seq=1, step=2, time=1.0, rule="entropy", severity="warn", message="")
    facets = browser.get("/trajectories/").context["facets"]
    assert list(facets.environments) == ["FrozenLake", "Thin ice"]
    assert "max_turns" in facets.stops
    assert (facets.total, facets.first_step, facets.last_step, list(facets.rules)) == (40, 1, 2, ["entropy"])


def test_a_count_above_the_limit_is_shown_as_more_than_the_limit(
    browser: Client, other: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(over_runs, "COUNTED", 39)
    assert "More than 39 of more than 39 trajectories" in browser.get("/trajectories/").content.decode()
    assert "8 of more than 39 trajectories" in browser.get("/trajectories/?run=lemur").content.decode()


def test_every_row_is_on_one_page_in_order_with_ids_in_the_same_direction(run: Run, other: Run) -> None:
    other.trajectories.update(advantage=None, group_std=None, kept=None, environment="Thin ice")
    for name in SORTS:
        sort = read_sort(name, NEWEST_OF_ALL)
        shown: list[tuple[Any, int]] = []
        after = before = ""
        while after or not shown:
            page = page_of(Trajectory.objects.all(), sort, after=after, size=7)
            values = [getattr(row, sort.column.field) for row in page.rows]
            shown += [(-2 if value is None else value, row.pk) for value, row in zip(values, page.rows, strict=True)]
            after, before = page.after, page.before
        assert len(shown) == 40, name
        assert shown == sorted(shown, reverse=sort.descending), name
        back = page_of(Trajectory.objects.all(), sort, before=before, size=7)
        assert [row.pk for row in back.rows] == [pk for _, pk in shown[28:35]], name  # the last page begins at row 35


@on_sqlite
def test_no_page_over_all_runs_sorts_the_table_or_rescans_it(run: Run, other: Run) -> None:
    for name in SORTS:
        sort = read_sort(name, NEWEST_OF_ALL)
        first = page_of(Trajectory.objects.all(), sort, size=7)
        for cursor in ("", first.after):
            with CaptureQueriesContext(connection) as queried:
                page_of(Trajectory.objects.all(), sort, after=cursor)
            plan = plan_of(queried.captured_queries[0]["sql"])
            assert "TEMP B-TREE" not in plan, name
            assert ("SEARCH" if cursor else "SCAN") in plan, name
            assert "USING INDEX" in plan or sort.column.name == "recorded", name


@on_sqlite
def test_selective_filters_use_an_index(run: Run, other: Run) -> None:
    few: list[dict[str, str]] = [{"q": "hole"}, {"q": "hole", "run": "lemur"}, {"seed": "7"}, {"run": "e"}]
    for query in few:
        with CaptureQueriesContext(connection) as queried:
            page_of(read_filters(query).apply(Trajectory.objects.all()), NEWEST_OF_ALL)
        assert "SCAN trajectories_trajectory" not in plan_of(queried.captured_queries[-1]["sql"]), query


@on_sqlite
def test_the_form_s_options_are_found_by_index_lookups(other: Run) -> None:
    with CaptureQueriesContext(connection) as queried:
        over_runs.facets()
    plans = [plan_of(query["sql"]) for query in queried.captured_queries if "LIMIT 100001" not in query["sql"]]
    assert not [plan for plan in plans if "SCAN trajectories_trajectory" in plan]


def plan_of(sql: str) -> str:
    with connection.cursor() as cursor:
        cursor.execute(f"EXPLAIN QUERY PLAN {sql}")
        return "\n".join(row[3] for row in cursor.fetchall())


def test_the_number_of_queries_does_not_grow_with_runs(browser: Client, run: Run, other: Run) -> None:
    def queries() -> int:
        with CaptureQueriesContext(connection) as queried:
            assert browser.get("/trajectories/?q=hole&sort=-return").status_code == 200
        return len(queried)

    few = queries()
    for number in range(3):
        record_steps(build_run(name=f"more-{number}"), run.parsed_config().environments[0], steps=range(1, 2), groups=1)
    assert queries() == few <= 16


def test_a_run_s_list_links_to_all_runs_with_the_same_filters(browser: Client, run: Run, other: Run) -> None:
    page = browser.get(f"/runs/{run.pk}/trajectories/?q=narwhal&success=yes").content.decode()
    link = 'href="/trajectories/?q=narwhal&amp;success=yes"'
    assert page.count(link) == 2  # above the list, and in the note that nothing matches
    assert 'href="/trajectories/"' in browser.get(f"/runs/{run.pk}/trajectories/").content.decode()


def test_selected_runs_link_to_their_trajectories(browser: Client, run: Run, other: Run) -> None:
    answer = browser.post("/runs/bulk/", {"run": [run.pk, other.pk], "action": "trajectories"})
    assert answer["Location"] == f"/trajectories/?run={run.pk},{other.pk}"
    assert browser.get(answer["Location"]).context["counts"].total == 40


def test_a_reader_links_to_its_problem_in_all_runs(browser: Client, run: Run, rows: list[Trajectory]) -> None:
    page = browser.get(reverse("trajectories:detail", args=[run.pk, rows[0].pk])).content.decode()
    assert f'href="/trajectories/?seed={rows[0].seed}&amp;environment=FrozenLake"' in page


def test_trajectories_of_two_runs_are_shown_side_by_side(
    browser: Client, run: Run, other: Run, rows: list[Trajectory]
) -> None:
    theirs = other.trajectories.first()
    assert theirs is not None
    page = browser.get(f"/trajectories/compare/?ids={rows[0].pk},{theirs.pk}&best=1")
    assert [column.row.run for column in page.context["columns"]] == [run, other]
    assert f'<a class="quiet" href="/runs/{other.pk}/">{other.name}</a>' in page.content.decode()
    within = browser.get(f"/runs/{run.pk}/trajectories/compare/?ids={rows[0].pk},{theirs.pk}")
    assert [column.row.run for column in within.context["columns"]] == [run]


def test_a_download_has_the_matches_of_all_runs(browser: Client, run: Run, other: Run) -> None:
    answer: Any = browser.get("/trajectories/export.jsonl?step=1")
    assert answer["Content-Disposition"] == 'attachment; filename="trajectories-chat.jsonl"'
    runs = [json.loads(line)["metadata"]["run"] for line in answer.getvalue().splitlines()]
    assert (len(runs), set(runs)) == (24, {run.pk, other.pk})


def test_lost_trajectories_are_reported_for_the_selected_runs(browser: Client, run: Run, other: Run) -> None:
    for one in (run, other):
        LostTrajectory.objects.create(run=one, step=1, split="train", file="s", why="It is gone.", remedy="Look.")
    assert "cannot be read" not in browser.get("/trajectories/").content.decode()
    text = browser.get(f"/trajectories/?run={other.pk}").content.decode()
    assert "1 recorded trajectory cannot be read" in text
    assert f'Run <span class="mono">{other.pk}</span>, step 1' in text


def test_anonymous_users_and_unsafe_methods_are_refused(browser: Client, other: Run) -> None:
    for path in ("/trajectories/", "/trajectories/export.jsonl", "/trajectories/compare/"):
        assert browser.post(path).status_code == 405
        assert Client().get(path).status_code == 302


def test_hostile_run_and_environment_names_are_escaped(browser: Client, run: Run, other: Run) -> None:
    hostile = '"><script>alert("h00")</script>'
    rename(other, hostile)
    other.trajectories.update(environment=hostile)
    for query in ({}, {"run": hostile}, {"environment": hostile}, {"run": "<b>, '"}):
        page = read_page(browser.get("/trajectories/", query).content.decode())
        assert page.dangers == []
    assert hostile in "".join(read_page(browser.get("/trajectories/").content.decode()).text)
