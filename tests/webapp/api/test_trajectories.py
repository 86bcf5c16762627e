"""The API's list of trajectories: filtered, searched and sorted as their page, and paged by cursors."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from tests.builders.runs import build_run
from tests.builders.trajectories import record_steps
from webapp.api.trajectory_query import ORDERS, PREVIEWED
from webapp.runs.models import Alert, Run
from webapp.trajectories.filters import read_filters
from webapp.trajectories.models import Trajectory, TrajectoryText
from webapp.trajectories.paging import COLUMNS


@pytest.fixture
def run(db: None) -> Run:
    """Two steps of 4 groups x 4 members."""
    run = build_run()
    record_steps(run, run.parsed_config().environments[0], steps=range(1, 3))
    return run


def answer(browser: Client, run: Run, **query: object) -> dict[str, Any]:
    found = browser.get(f"/api/v1/runs/{run.pk}/trajectories?{urlencode(query)}")
    assert found.status_code == 200, found.content
    return dict(found.json())


def ids(browser: Client, run: Run, **query: object) -> list[int]:
    return [row["id"] for row in answer(browser, run, limit=500, **query)["trajectories"]]


def refused(browser: Client, run: Run, **query: object) -> str:
    found = browser.get(f"/api/v1/runs/{run.pk}/trajectories?{urlencode(query)}")
    assert found.status_code == 400
    return str(found.json()["error"]) + " " + str(found.json()["remedy"])


def test_without_a_query_the_newest_recorded_come_first(browser: Client, run: Run) -> None:
    assert ids(browser, run) == sorted((row.pk for row in run.trajectories.all()), reverse=True)


@pytest.mark.parametrize(
    ("asked", "on_the_page"),
    [
        ({"success": "0", "kept": "kept"}, {"success": "no", "kept": "kept"}),
        ({"return_low": "0.5", "return_high": 1}, {"low": "0.5", "high": "1"}),
        ({"advantage_low": -0.5, "advantage_high": 0.9}, {"adv_low": "-0.5", "adv_high": "0.9"}),
        ({"turns_low": 2, "turns_high": 3}, {"turns_low": "2", "turns_high": "3"}),
        ({"tokens_low": 20, "tokens_high": 60}, {"tokens_low": "20", "tokens_high": "60"}),
        ({"step_low": 2, "step_high": 2, "group": 1}, {"step": "2", "group": "1"}),
        ({"parse": "failed"}, {"parse": "failed"}),
        ({"q": "hole", "success": "1"}, {"q": "hole", "success": "yes"}),
        ({"split": "train", "environment": "FrozenLake", "stop": "terminated"}, {"stop": "terminated"}),
        ({"alert": "entropy"}, {"step": "2"}),
    ],
)
def test_filters_find_what_the_page_finds(
    browser: Client, run: Run, asked: dict[str, object], on_the_page: dict[str, str]
) -> None:
    Alert.objects.create(run=run, seq=1, step=2, time=1.0, rule="entropy", severity="warn", message="")
    expected = read_filters(on_the_page, run_id=run.pk).apply(run.trajectories.all())
    assert 0 < expected.count() < 32
    assert sorted(ids(browser, run, **asked)) == sorted(expected.values_list("pk", flat=True))


@pytest.mark.parametrize("name", ORDERS)
@pytest.mark.parametrize("minus", ["", "-"])
def test_every_row_is_on_one_page_in_order(browser: Client, run: Run, name: str, minus: str) -> None:
    run.trajectories.filter(group=1).update(advantage=None, group_std=None, kept=None)
    shown: list[int] = []
    after: dict[str, str] = {}
    while after or not shown:
        page = answer(browser, run, sort=f"{minus}{name}", limit=7, **after)
        shown += [row["id"] for row in page["trajectories"]]
        after = {"after": page["next"]} if page["next"] else {}
    rows = {row.pk: getattr(row, COLUMNS[name].field) for row in run.trajectories.all()}
    keyed = [(-2 if rows[pk] is None else rows[pk], pk) for pk in shown]  # no value is the lowest
    assert len(keyed) == 32
    assert keyed == sorted(keyed, reverse=bool(minus))


def test_superseded_ones_are_a_list_of_their_own(browser: Client, run: Run) -> None:
    run.trajectories.filter(step=2, group=0).update(superseded=True)
    assert len(ids(browser, run)) == 28  # 32 without a group of 4
    assert [row["superseded"] for row in answer(browser, run, superseded=1)["trajectories"]] == [True] * 4


def test_a_cursor_belongs_to_its_filters_and_order(browser: Client, run: Run) -> None:
    cursor = answer(browser, run, sort="-tokens", limit=3)["next"]
    assert "other filters" in refused(browser, run, sort="tokens", after=cursor)
    assert "other filters" in refused(browser, run, sort="-tokens", success=1, after=cursor)
    assert answer(browser, run, sort="-tokens", limit=9, preview=1, after=cursor)["trajectories"]


@pytest.mark.parametrize(
    ("query", "reason"),
    [
        ({"sort": "run"}, "'run' is no order. Send one of recorded, step, "),
        ({"sort": "--step"}, "'--step' is no order"),
        ({"q": "?!"}, "'?!' has no letters or digits"),
        ({"q": "a " * 21}, ""),
        ({"q": " ".join(map(str, range(21)))}, "The search has more than 20 words. Send fewer."),
        ({"kept": "yes"}, "kept"),
        ({"return_low": "nan"}, "return_low"),
        ({"step": -1}, "step"),
        ({"low": 1}, "low"),
        ({"after": "17"}, "'17', which is not a cursor"),
        ({"after": "WyJhIiwgMV0"}, "not a cursor"),  # of one part
        ({"after": "WyJhIiwgIngiLCAxXQ"}, "not a cursor"),  # a key that is text
        ({"after": "WyJhIiwgMSwgMWU5OTld"}, "not a cursor"),  # an id of infinity
    ],
)
def test_what_is_no_query_is_refused_with_what_is_allowed(
    browser: Client, run: Run, query: dict[str, object], reason: str
) -> None:
    if reason:
        assert reason in refused(browser, run, **query)
    else:  # a word that is repeated is one word
        assert ids(browser, run, **query) == ids(browser, run, q="a")


def test_a_preview_is_the_beginning_of_thoughts_and_actions(browser: Client, run: Run) -> None:
    first, second = run.trajectories.order_by("-pk")[:2]
    TrajectoryText.objects.filter(pk=first.pk).update(thoughts="\x1eA hole.\x1eThe goal.", actions="\x1eUp\x1eDown")
    TrajectoryText.objects.filter(pk=second.pk).update(thoughts="\x1e" + "a" * PREVIEWED, actions="\x1eUp")
    rows = answer(browser, run, preview=1, limit=2)["trajectories"]
    assert rows[0]["preview"] == "A hole.\n\nThe goal.\n\nUp\n\nDown"
    assert rows[1]["preview"] == "a" * 999  # the mark of the turn is the first character
    assert answer(browser, run, limit=1)["trajectories"][0]["preview"] is None


def test_a_row_says_what_is_wrong_with_its_responses(browser: Client, run: Run) -> None:
    row = run.trajectories.order_by("-pk")[0]
    Trajectory.objects.filter(pk=row.pk).update(faults=" no_think cut_off ", parse_failures=2, surplus=3)
    shown = answer(browser, run, limit=1)["trajectories"][0]
    assert (shown["faults"], shown["parse_failures"], shown["surplus"]) == (["no_think", "cut_off"], 2, 3)


@pytest.mark.parametrize("part", ["trajectories", "alerts", "held-out", "superseded-steps"])
def test_a_list_of_a_run_does_not_read_its_configuration(browser: Client, run: Run, part: str) -> None:
    with CaptureQueriesContext(connection) as queried:
        assert browser.get(f"/api/v1/runs/{run.pk}/{part}").status_code == 200
    assert not [query for query in queried.captured_queries if '"runs_run"."config"' in query["sql"]]
