"""Any measure is compared, ranked and tied as success is: problem by problem, with adjusted p-values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from engine.suites.outcomes import OUTCOMES, write_outcomes
from tests.builders.suites import document, outcomes_of, suite_evaluation, suite_version
from webapp.leaderboard.board import Board, read_board
from webapp.leaderboard.columns import COLUMNS
from webapp.leaderboard.entries import add_entry
from webapp.leaderboard.exports import as_json, as_markdown
from webapp.leaderboard.models import Entry
from webapp.leaderboard.pair import read_pair
from webapp.leaderboard.query import read_query
from webapp.suites.models import Suite

pytestmark = pytest.mark.django_db
TOKENS = {
    "short": [10, 12, 11, 14, 9, 12],
    "medium": [20, 25, 19, 26, 18, 24],
    "like it": [22, 21, 23, 22, 22, 22],
}


def entry(name: str, solved: str, columns: Mapping[str, Sequence[Any]] | None = None, **fields: Any) -> Entry:
    """`columns` has for each field of an outcome its value on each problem."""
    version = suite_version(document(problems=len(solved)))
    evaluation = suite_evaluation({"Bandit": list(solved)}, version=version, model=f"/models/{name}", **fields)
    changes = [dict(zip(columns or {}, row, strict=True)) for row in zip(*(columns or {}).values(), strict=True)]
    outcomes = outcomes_of(version.parsed(), {"Bandit": list(solved)})
    write_outcomes(
        evaluation.folder / OUTCOMES,
        [replace(one, **change) for one, change in zip(outcomes, changes or [{}] * len(outcomes), strict=True)],
    )
    return add_entry(evaluation)


def board(**query: str) -> Board:
    return read_board(Suite.objects.get(name="bandits"), read_query(query))


def test_rows_are_ranked_by_the_measure_they_are_sorted_by() -> None:
    for name, tokens in TOKENS.items():
        entry(name, "111000", {"tokens": tokens})
    found = board(sort="tokens")
    # means 11.33, 22 and 22: short has 8, 9, 10, 12, 12 and 13 fewer than each of the others, whose means are equal
    assert [(row.entry.name, row.rank, str(row.standing.ranks), row.standing.ties) for row in found.rows] == [
        ("short", 1, "1", "a"), ("medium", 2, "2–3", "b"), ("like it", 2, "2–3", "b"),
    ]  # fmt: skip
    delta = found.rows[1].standing.delta
    assert delta is not None
    assert (delta.difference, delta.ahead, delta.behind) == (pytest.approx(22 - 34 / 3), 6, 0)
    # 10.667 with a standard deviation of 1.966: t 13.288 with 5 degrees of freedom, p .000043164, of three pairs
    assert delta.p == pytest.approx(3 * 0.000043164, rel=1e-4)
    assert not board(sort="-success").rows[0].standing.delta
    assert {row.standing.ties for row in board().rows} == {"a"}  # by success all are the same


def test_the_order_of_the_table_does_not_change_which_is_better() -> None:
    for name, tokens in TOKENS.items():
        entry(name, "111000", {"tokens": tokens})
    found = board(sort="-tokens")
    assert [(row.entry.name, row.rank) for row in found.rows][-1] == ("short", 1)
    assert found.baseline is not None
    assert found.baseline.entry.name == "short"


def test_shares_of_responses_weigh_a_problem_by_its_responses() -> None:
    # well-formed 1/1 + 2/4 = 3 of 5 and 0/1 + 4/4 = 4 of 5: a difference of -.2, not the mean of +1 and -.5
    first = entry("first", "11", {"turns": [1, 4], "malformed": [0, 2]})
    other = entry("other", "11", {"turns": [1, 4], "malformed": [1, 0]})
    page = read_pair(first, other, COLUMNS["format"])
    assert page.difference == pytest.approx(-0.2)
    assert (page.ahead, page.behind) == (1, 1)
    assert [(one.score, one.other_score) for one in page.more_first] == [(1.0, 0.0)]
    assert board(sort="-format").rows[0].entry.name == "other"


def test_an_entry_without_the_measure_is_neither_ranked_nor_compared() -> None:
    entry("a", "111000", {"tokens": TOKENS["short"]})
    entry("b", "111000", {"tokens": TOKENS["medium"]})
    entry("c", "111000", {"tokens": [None] * 6})
    rows = {row.entry.name: row for row in board(sort="tokens").rows}
    assert list(rows) == ["a", "b", "c"]
    assert (rows["c"].rank, rows["c"].standing.ranks, rows["c"].standing.delta) == (None, None, None)
    assert str(rows["b"].standing.ranks) == "2"
    page = read_pair(rows["a"].entry, rows["c"].entry, COLUMNS["tokens"])
    assert page.why_not == ["tokens problem by problem is not known for one of them"]


def test_rows_without_a_file_of_outcomes_say_why_they_are_not_compared(client: Client) -> None:
    client.force_login(User.objects.create_user("ada"))
    version = suite_version(document(problems=4))
    for name in ("a", "b"):
        add_entry(suite_evaluation({"Bandit": list("1100")}, version=version, model=f"/m/{name}"))
    assert board(sort="tokens").without_totals == 2
    page = client.get("/leaderboard/?sort=tokens").content.decode()
    assert "2 rows cannot be compared by tokens" in page
    assert "cannot be compared" not in client.get("/leaderboard/").content.decode()


def test_pass_at_k_is_compared_over_the_problems_too() -> None:
    version = suite_version(document(problems=6, samples=2))
    rows = [
        add_entry(suite_evaluation({"Bandit": texts}, version=version, model=f"/m/{name}", write_file=True))
        for name, texts in {"often": ["10"] * 6, "twice": ["11", "11", "00", "00", "00", "00"]}.items()
    ]
    page = read_pair(rows[0], rows[1], COLUMNS["pass_at"])
    # pass@2: all six and two of six; four discordant problems, all for the first: p 2/16
    assert (page.difference, page.p, page.ahead, page.behind) == (pytest.approx(4 / 6), pytest.approx(0.125), 4, 0)
    assert read_pair(rows[0], rows[1], COLUMNS["pass_all"]).difference == pytest.approx(-2 / 6)
    assert board(sort="-pass_at").rows[0].entry.name == "often"


def test_training_seeds_are_compared_by_the_measure_and_sorted_by_every_column() -> None:
    # means of tokens 12 and 32 over seeds: standard deviations 2, Welch's t 20 / sqrt(8/3) = 12.247 with 4: p .000255
    for configuration, means in {"A": (30, 32, 34), "B": (10, 12, 14)}.items():
        for seed, tokens in enumerate(means):
            one = entry(
                f"{configuration}{seed}", "1100" if configuration == "A" else "1000", {"tokens": [tokens] * 4},
                training_seed=seed, configuration=configuration,
            )  # fmt: skip
            Entry.objects.filter(pk=one.pk).update(updates=10 if configuration == "A" else None)
    found = board(**{"as": "configuration", "sort": "tokens"})
    assert [(row.entry.configuration, row.rank, str(row.standing.ranks)) for row in found.rows] == [
        ("B", 1, "1"), ("A", 2, "2"),
    ]  # fmt: skip
    delta = found.rows[1].standing.delta
    assert delta is not None
    assert (delta.difference, delta.p) == (pytest.approx(20), pytest.approx(0.000255, abs=1e-6))
    for sort, first in (("-tokens", "A"), ("success", "B"), ("-updates", "A"), ("updates", "A"), ("name", "A")):
        rows = board(**{"as": "configuration", "sort": sort}).rows
        assert rows[0].entry.configuration == first, sort


def test_page_exports_and_api_follow_the_measure(client: Client) -> None:
    client.force_login(User.objects.create_user("ada"))
    first, other = (entry(name, "111000", {"tokens": TOKENS[name]}) for name in ("short", "medium"))
    page = client.get("/leaderboard/?sort=tokens").content.decode()
    assert "Δ tokens to best" in page
    assert f"first={other.pk}&amp;other={first.pk}&amp;measure=tokens" in page
    assert "+10.67 tokens, 95% interval" in page
    pair = client.get(f"/leaderboard/pair/?first={other.pk}&other={first.pk}&measure=tokens").content.decode()
    assert "+10.67 tokens" in pair
    assert "More tokens of medium (6)" in pair
    assert "significantly different" in pair
    assert client.get(f"/leaderboard/pair/?first={other.pk}&other={first.pk}&measure=x").status_code == 200
    assert "+10.67" in as_markdown(board(sort="tokens"))
    assert as_json(board(sort="tokens"))["measure"] == "tokens"
    answer = client.get("/api/v1/leaderboard/pair", {"first": other.pk, "other": first.pk, "measure": "tokens"}).json()
    assert answer["difference"] == pytest.approx(32 / 3)
    assert answer["more_by_first"][0]["score"] - answer["more_by_first"][0]["other_score"] == 13  # the largest first
    assert client.get("/api/v1/leaderboard/pair", {"first": 1, "other": 2, "measure": "x"}).status_code == 400
