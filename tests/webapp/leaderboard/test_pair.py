"""Two entries problem by problem, by page and by API."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from tests.builders.suites import document, suite_evaluation, suite_version
from webapp.api.resources.leaderboard import BoardAnswer, PairAnswer
from webapp.leaderboard.entries import add_entry
from webapp.leaderboard.models import Entry
from webapp.leaderboard.pair import PairPage, read_pair

pytestmark = pytest.mark.django_db


@pytest.fixture
def browser(client: Client) -> Client:
    client.force_login(User.objects.create_user("ada"))
    return client


def entries(*solved: list[str], **item: Any) -> list[Entry]:
    version = suite_version(document(problems=len(solved[0]), samples=len(solved[0][0]), **item))
    return [
        add_entry(suite_evaluation({"Bandit": texts}, version=version, model=f"/models/{index}"))
        for index, texts in enumerate(solved)
    ]


def compared(*solved: list[str]) -> PairPage:
    return read_pair(*entries(*solved))


def test_problems_that_only_one_solves_are_listed_for_each() -> None:
    page = compared(list("111100-"), list("1000110"))
    assert [one.index for one in page.more_first] == [1, 2, 3]
    assert [one.index for one in page.more_other] == [4, 5]
    assert (page.shared, page.ahead, page.behind, page.same) == (6, 3, 2, 1)
    assert page.p == 1.0  # 2 of 5 discordant: 2 x 16/32
    assert page.more_first[0].identity == "0000000000000001"
    assert page.sign_flip_p is None  # it is what McNemar's test is here


def test_of_several_samples_the_largest_gain_is_first_with_a_sample_that_they_differ_on() -> None:
    page = compared(["110", "111", "000", "001"], ["100", "000", "000", "011"])
    assert [(one.index, one.solved, one.other_solved, one.sample) for one in page.more_first] == [
        (1, 3, 0, 0),
        (0, 2, 1, 1),  # both solved sample 0
    ]
    assert [(one.index, one.sample) for one in page.more_other] == [(3, 1)]
    assert page.several
    # differences 1/3, 1, 0, -1/3: sign flips of three: |sum| >= 1 in 6 of 8, counting both tails of ties
    assert page.difference == pytest.approx(0.25)
    assert page.sign_flip_p == pytest.approx(0.75)


def test_the_two_ways_round_are_one_comparison() -> None:
    first, other = entries(["110", "111", "000", "001"], ["100", "000", "000", "011"])
    there, back = read_pair(first, other), read_pair(other, first)
    assert (back.difference, back.low, back.high) == pytest.approx((-there.difference, -there.high, -there.low))
    assert (back.p, back.sign_flip_p) == (there.p, there.sign_flip_p)


def test_entries_of_other_conditions_are_not_compared(browser: Client) -> None:
    one = entries(list("1100"))[0]
    version = suite_version(document("cold", problems=4, temperature=0.0))
    other = add_entry(suite_evaluation({"Bandit": list("1100")}, version=version))
    page = read_pair(one, other)
    assert page.why_not == ["Bandit: temperature 0.5, not 0.0"]
    text = browser.get(f"/leaderboard/pair/?first={one.pk}&other={other.pk}").content.decode()
    assert "Not comparable: Bandit: temperature 0.5, not 0.0." in text


def test_the_page_links_to_the_two_trajectories_side_by_side(browser: Client) -> None:
    first, other = entries(list("1111000"), list("1000110"))
    page = browser.get(f"/leaderboard/pair/?first={first.pk}&other={other.pk}").content.decode()
    assert f"first={first.pk}&amp;other={other.pk}&amp;item=0&amp;problem=1&amp;sample=0" in page
    assert "+14.3 points" in page  # (3 - 2) / 7
    assert "not significantly different" in page
    assert browser.get(f"/leaderboard/pair/?first={first.pk}&other=x").status_code == 404


def test_the_api_has_the_same(browser: Client) -> None:
    first, other = entries(list("1111000"), list("1000110"))
    answer = browser.get("/api/v1/leaderboard/pair", {"first": first.pk, "other": other.pk})
    found = PairAnswer.model_validate(answer.json(), extra="forbid")
    assert [one.index for one in found.more_by_first] == [1, 2, 3]
    assert found.difference == pytest.approx(1 / 7)
    assert browser.get("/api/v1/leaderboard/pair", {"first": 99, "other": other.pk}).status_code == 404

    answer = browser.get("/api/v1/leaderboard/entries", {"limit": 1, "baseline": other.pk})
    board = BoardAnswer.model_validate(answer.json(), extra="forbid")
    assert (board.total, board.next, [row.evaluation for row in board.rows]) == (2, 2, [first.pk])
    assert board.rows[0].difference == pytest.approx(1 / 7)
    assert board.rows[0].values["success"] == pytest.approx([4 / 7, 0.250, 0.842], abs=1e-3)
    assert board.rows[0].values["hours"] is None
    last = BoardAnswer.model_validate(browser.get("/api/v1/leaderboard/entries", {"limit": 1, "after": 2}).json())
    assert (last.next, [row.evaluation for row in last.rows]) == (None, [other.pk])
    assert browser.get("/api/v1/leaderboard/entries", {"sort": "nothing"}).status_code == 400
    assert browser.get("/api/v1/leaderboard/entries", {"suite": "none"}).status_code == 404
    assert browser.get("/api/v1/leaderboard/").json()["suites"] == [{"name": "bandits", "entries": 2}]
