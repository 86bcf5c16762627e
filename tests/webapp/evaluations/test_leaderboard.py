"""The leaderboard ranks only comparable results, and marks those that do not differ significantly."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from engine.config import EnvironmentConfig
from tests.builders.runs import add_evaluation, build_run, record_outcomes
from tests.hostile import short
from webapp.environments.services import define
from webapp.evaluations import leaderboard
from webapp.evaluations.models import Evaluation
from webapp.runs.models import Run
from webapp.runs.states import RunState


@pytest.fixture
def browser(client: Client, db: None) -> Client:
    client.force_login(User.objects.create_user("ada"))
    return client


def tables() -> list[leaderboard.Table]:
    """With all rows."""
    found = leaderboard.tables()
    leaderboard.show_rows(found, 100)
    return found


@pytest.mark.django_db
def test_rows_are_ranked_by_success_and_ties_share_a_rank() -> None:
    for name, successes in (("third", 60), ("first", 128), ("second", 100), ("also second", 100)):
        add_evaluation(build_run(name=name), successes=successes)
    assert [(entry.rank, entry.run.name) for entry in tables()[0].shown] == [
        (1, "first"),
        (2, "second"),
        (2, "also second"),
        (4, "third"),
    ]


@pytest.mark.django_db
def test_rows_that_are_not_significantly_different_from_the_best_are_bracketed() -> None:
    # against 128/256: 110/256 differs by .070, interval -.016 to .155 (p .111); 100/256 by .109, .023 to .192 (p .0127,
    # .0254 for two comparisons)
    for successes in (128, 110, 100):
        add_evaluation(build_run(name=str(successes)), successes=successes)
    assert [(entry.run.name, entry.tied) for entry in tables()[0].shown] == [
        ("128", True),
        ("110", True),
        ("100", False),
    ]


@pytest.mark.django_db
def test_rows_on_the_same_problems_are_compared_problem_by_problem(browser: Client) -> None:
    # as independent episodes 86 and 73 of 256 do not differ significantly; with 25 and 12 discordant problems they do
    # (Bonett and Price: .0504 and a standard error of .0240, p .0358)
    both = "1" * 61 + "0" * 158
    add_evaluation(build_run(name="best"), successes=86, outcomes=both + "1" * 25 + "0" * 12)
    add_evaluation(build_run(name="worse"), successes=73, outcomes=both + "0" * 25 + "1" * 12)
    table = tables()[0]
    assert [(entry.tied, entry.shared_problems) for entry in table.shown] == [(True, 256), (False, 256)]
    assert table.shown[1].p == pytest.approx(0.0358, abs=1e-4)
    assert table.compared_on == "compared with the best on the 256 problems that both played"
    # 43 and 30 discordant problems have a p of .1316; of two comparisons, .0358 is .0716
    other = "1" * 43 + "0" * 18 + "1" * 18 + "0" * 140 + "0" * 25 + "1" * 12
    add_evaluation(build_run(name="like it"), successes=73, outcomes=other)
    table = tables()[0]
    assert {entry.run.name: entry.tied for entry in table.shown} == {"best": True, "worse": True, "like it": True}
    assert [entry.p for entry in table.shown] == pytest.approx([1.0, 0.0716, 0.1316], abs=1e-4)
    adjusted = "p adjusted for 2 comparisons (Holm)"
    assert table.compared_on == f"compared with the best on the 256 problems that both played, {adjusted}"
    assert "p = 0.072, adjusted by Holm's method" in browser.get("/leaderboard/").content.decode()


@pytest.mark.django_db
def test_a_row_is_not_worse_where_the_best_is_behind_on_what_both_played() -> None:
    best = add_evaluation(build_run(name="best"), successes=80, episodes=100)
    record_outcomes(best, "0" * 20 + "1" * 80)
    other = add_evaluation(build_run(name="other"), successes=60, episodes=100)
    record_outcomes(other, "0" * 40 + "1" * 60, problems=[*range(200, 240), *range(60)])  # 0 to 19 it solved alone
    assert [(entry.run.name, entry.tied) for entry in tables()[0].shown] == [("best", True), ("other", True)]


@pytest.mark.django_db
def test_a_row_with_other_problems_or_none_recorded_is_compared_on_what_there_is() -> None:
    best = add_evaluation(build_run(name="best"), successes=8, episodes=16, outcomes="10" * 8)
    shifted = add_evaluation(build_run(name="shifted"), successes=7, episodes=16)
    record_outcomes(shifted, "10" * 7 + "00", problems=range(4, 20))
    add_evaluation(build_run(name="unrecorded"), successes=6, episodes=16)
    assert best.problem_list_id != shifted.problem_list_id
    table = tables()[0]
    assert [(entry.run.name, entry.shared_problems) for entry in table.shown] == [
        ("best", 16), ("shifted", 12), ("unrecorded", 0),
    ]  # fmt: skip
    assert table.compared_on == (
        "compared with the best on the 12 problems that both played; others as independent episodes, p adjusted for 2 "
        "comparisons (Holm)"
    )


@pytest.mark.django_db
def test_another_protocol_is_listed_below_with_its_differences() -> None:
    for successes in (60, 70):
        add_evaluation(build_run(name="usual"), successes=successes)
    add_evaluation(build_run(name="short"), successes=60, episodes=64)
    add_evaluation(build_run(name="greedy"), successes=90, temperature=0.0)
    table = tables()[0]
    assert [entry.run.name for entry in table.shown] == ["usual", "usual"]
    assert {entry.run.name: entry.protocol_difference for entry in table.shown_other_protocols} == {
        "short": "episodes 64, not 256",
        "greedy": "temperature 0.0, not 1.0",
    }


@pytest.mark.django_db
def test_other_versions_of_an_environment_have_their_own_table() -> None:
    lake = define(name="Lake", config=EnvironmentConfig.model_validate({"tag": "Lake"}))
    large = define(name="Large", config=EnvironmentConfig.model_validate({"tag": "Large", "parameters": {"size": 5}}))
    for version in (lake, lake, large):
        add_evaluation(build_run(version=version), successes=9)
    assert [(table.title, len(table.ranked)) for table in tables()] == [("Lake v1", 2), ("Large v1", 1)]


@pytest.mark.django_db
def test_the_same_configuration_under_another_name_is_comparable() -> None:
    lake = define(name="Lake", config=EnvironmentConfig.model_validate({"tag": "Lake"}))
    add_evaluation(build_run(version=lake), successes=9)
    add_evaluation(build_run(), successes=8)
    assert [(table.title, len(table.ranked)) for table in tables()] == [("Lake v1", 2)]


@pytest.mark.django_db
def test_only_final_evaluations_of_finished_runs_count() -> None:
    add_evaluation(build_run(), successes=9, final=False)
    add_evaluation(build_run(state=RunState.RUNNING), successes=9)
    add_evaluation(build_run(state=RunState.FAILED), successes=9)
    assert tables() == []


@pytest.mark.django_db
def test_the_newest_final_evaluation_of_a_resumed_run_counts() -> None:
    run = build_run()
    add_evaluation(run, successes=9, step=30)
    add_evaluation(run, successes=90, step=60)
    assert [(entry.result.successes, entry.result.step) for entry in tables()[0].shown] == [(90, 60)]


def test_the_page_shows_the_interval_and_links_to_the_run(browser: Client) -> None:
    row = add_evaluation(build_run(name="calm-otter"), successes=61)
    page = browser.get("/leaderboard/").content.decode()
    assert f"/runs/{row.run_id}/" in page
    assert "95% interval 19.0–29.4%" in page


def test_an_empty_leaderboard_explains_how_to_fill_it(browser: Client) -> None:
    assert "No finished runs yet" in browser.get("/leaderboard/").content.decode()


def test_a_long_table_shows_its_best_rows_and_says_how_many_are_below(browser: Client) -> None:
    for successes in range(103):
        add_evaluation(build_run(name=f"run {successes}"), successes=successes)
    page = browser.get("/leaderboard/")
    assert "3 more rows below these." in page.content.decode()
    assert [entry.result.successes for entry in page.context["tables"][0].shown] == list(range(102, 2, -1))
    assert "more rows below" not in browser.get("/leaderboard/?rows=1000").content.decode()


def test_rows_of_forks_take_no_query_each(browser: Client) -> None:
    def queries() -> int:
        with CaptureQueriesContext(connection) as taken:
            assert b"forked from" in browser.get("/leaderboard/runs/").content
        return len(taken)

    def fork(name: str) -> None:
        run = build_run(name=name)
        add_evaluation(run, successes=61)
        Run.objects.filter(pk=run.pk).update(forked_from=parent, fork_step=2)

    parent = build_run(name="parent")
    fork("first")
    before = queries()
    for number in range(5):
        fork(f"fork {number}")
    assert queries() == before


def test_an_unknown_environment_shows_all(browser: Client) -> None:
    add_evaluation(build_run(), successes=61)
    assert len(browser.get("/leaderboard/?environment=nothing").context["tables"]) == 1


def test_names_are_escaped(browser: Client) -> None:
    for name in short(80):
        add_evaluation(build_run(name=name), successes=61)
    page = browser.get("/leaderboard/").content.decode()
    assert "<script>alert" not in page
    assert "\u202e" not in page


def test_pages_refuse_unsafe_methods_and_anonymous_users(browser: Client) -> None:
    for path in ("/leaderboard/", "/compare/"):
        assert browser.post(path).status_code == 405
        assert Client().get(path).status_code == 302
    assert Evaluation.objects.count() == 0


@pytest.mark.django_db
def test_environment_errors_are_shown_next_to_the_counted_episodes(browser: Client) -> None:
    add_evaluation(build_run(name="whole"), successes=60)
    assert "fault-note" not in browser.get("/leaderboard/").content.decode()
    add_evaluation(build_run(name="broken"), successes=50, faults=3)
    page = browser.get("/leaderboard/").content.decode()
    assert page.count("fault-note") == 1 and "3 errors" in page
