"""A leaderboard's rows follow what is evaluated and deleted, page by page, whatever order they are in."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from tests.builders.suites import document, suite_evaluation, suite_version
from webapp.jobs import JobState
from webapp.leaderboard.board import read_board
from webapp.leaderboard.entries import add_entry, add_new_entries
from webapp.leaderboard.models import Entry
from webapp.leaderboard.query import read_query
from webapp.suites.models import Suite, SuiteEvaluation

pytestmark = pytest.mark.django_db


def evaluated(name: str, solved: str, **fields: Any) -> SuiteEvaluation:
    version = suite_version(document(problems=len(solved), samples=1))
    return suite_evaluation({"Bandit": list(solved)}, version=version, model=f"/models/{name}", **fields)


def rows(most: int = 50, **query: str) -> list[tuple[str, int | None]]:
    """Names and ranks."""
    while add_new_entries():
        continue
    found = read_board(Suite.objects.get(name="bandits"), read_query(query), most=most)
    return [(row.entry.name, row.rank) for row in found.rows]


def test_an_evaluation_is_listed_when_it_finishes_and_not_before() -> None:
    evaluated("done", "1100")
    other = evaluated("other", "1110", state=JobState.RUNNING)
    assert rows() == [("done", 1)]
    SuiteEvaluation.objects.filter(pk=other.pk).update(state=JobState.FINISHED)
    assert rows() == [("other", 1), ("done", 2)]


def test_a_deleted_evaluation_is_gone_and_ranks_move_up() -> None:
    best = evaluated("best", "1111")
    evaluated("other", "1110")
    assert rows() == [("best", 1), ("other", 2)]
    best.delete()
    assert rows() == [("other", 1)]


def test_an_evaluation_that_is_scored_again_has_its_new_rank() -> None:
    first = evaluated("first", "1110")
    evaluated("other", "1100")
    assert rows() == [("first", 1), ("other", 2)]
    first.success = 0.25
    add_entry(first)
    assert rows() == [("other", 1), ("first", 2)]


def test_listed_evaluations_are_not_read_again() -> None:
    evaluated("done", "1100")
    assert add_new_entries() == 0
    with CaptureQueriesContext(connection) as queries:
        assert add_new_entries() == 0
    assert len(queries) == 1


def test_ranks_go_on_from_page_to_page_with_ties_across_them() -> None:
    for name, solved in (("a", "1111"), ("b", "1100"), ("c", "1100"), ("d", "1100"), ("e", "1000")):
        evaluated(name, solved)
    pages = [rows(2, page=str(page)) for page in (1, 2, 3)]
    assert pages == [[("a", 1), ("b", 2)], [("c", 2), ("d", 2)], [("e", 5)]]
    assert rows(2, sort="name", page="2") == [("c", 2), ("d", 2)]
    assert rows(2, page="9") == []


def test_entries_without_a_value_come_last_in_both_orders_and_have_no_rank() -> None:
    for name, tokens in (("a", 20.0), ("b", None), ("c", 10.0)):
        add_entry(evaluated(name, "1100"))
        Entry.objects.filter(name=name).update(tokens=tokens)
    assert rows(sort="tokens") == [("c", 1), ("a", 2), ("b", None)]
    assert rows(sort="-tokens") == [("a", 2), ("c", 1), ("b", None)]


def test_configurations_are_ranked_by_the_mean_of_their_newest_checkpoints() -> None:
    # A: seed 1 has 3/4 at its newest step, seed 2 1/4, mean 1/2; B: 1/2 and 1/2, the same; an endpoint has 1/4
    for configuration, seed, step, solved in (
        ("A", 1, 20, "1110"), ("A", 1, 10, "1111"), ("A", 2, 20, "1000"), ("B", 1, 20, "1100"), ("B", 2, None, "1100"),
    ):  # fmt: skip
        evaluated(f"{configuration}{seed}", solved, configuration=configuration, training_seed=seed, step=step)
    evaluated("endpoint", "1000")
    assert rows(**{"as": "configuration"}) == [("A1", 1), ("B1", 1), ("endpoint", 3)]
    assert rows(**{"as": "configuration", "sort": "success"}) == [("endpoint", 3), ("A1", 1), ("B1", 1)]
    assert rows(1, **{"as": "configuration", "page": "2"}) == [("B1", 1)]
