"""The leaderboard of a suite ranks only what is comparable, shows ties as ties, and says what else differs."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from tests.builders.runs import build_run
from tests.builders.suites import document, suite_evaluation, suite_version
from webapp.jobs import JobState
from webapp.leaderboard.board import Board, read_board
from webapp.leaderboard.cells import cell
from webapp.leaderboard.columns import COLUMNS
from webapp.leaderboard.entries import add_new_entries
from webapp.leaderboard.models import Entry
from webapp.leaderboard.query import BoardQuery, read_query
from webapp.suites.models import PolicyKind, Suite, SuiteEvaluation, SuiteVersion

pytestmark = pytest.mark.django_db
# 256 problems, of which both solve 61; the better one alone 25, the worse one alone 12: exact p .0470
BEST = "1" * 61 + "1" * 25 + "0" * 12 + "0" * 158
WORSE = "1" * 61 + "0" * 25 + "1" * 12 + "0" * 158
POOR = "1" * 8 + "0" * 248


@pytest.fixture
def browser(client: Client) -> Client:
    client.force_login(User.objects.create_user("ada"))
    return client


def version(problems: int = 256, **fields: Any) -> SuiteVersion:
    return suite_version(document(problems=problems, **fields))


def evaluated(name: str, solved: str, suite: SuiteVersion | None = None, **fields: Any) -> SuiteEvaluation:
    """`solved` has a digit for each problem, or texts of samples separated by spaces."""
    texts = solved.split() if " " in solved else list(solved)
    return suite_evaluation({"Bandit": texts}, version=suite or version(), model=f"/models/{name}", **fields)


def board(**query: str) -> Board:
    while add_new_entries():
        continue
    return read_board(Suite.objects.get(name="bandits"), read_query(query))


def test_rows_are_ranked_with_the_ranks_that_the_data_allow() -> None:
    for name, solved in (("poor", POOR), ("worse", WORSE), ("best", BEST)):
        evaluated(name, solved)
    found = board()
    # of 3 pairs: best and worse .0470 x 1 is significant last of all (Holm), the others far below
    assert [(row.entry.name, str(row.standing.ranks), row.standing.ties) for row in found.rows] == [
        ("best", "1", "a"), ("worse", "2", "b"), ("poor", "3", "c"),
    ]  # fmt: skip
    delta = found.rows[1].standing.delta
    assert delta is not None
    assert (delta.ahead, delta.behind, delta.shared) == (12, 25, 256)
    assert delta.p == pytest.approx(0.04703103, abs=1e-7)
    assert found.family == "p adjusted (Holm) for all 3 pairs of the 3 rows"


def test_a_difference_that_does_not_survive_the_correction_is_a_tie() -> None:
    # with a copy of `best`, two comparisons have .0470: times 2 it is above .05
    for name, solved in (("best", BEST), ("like it", BEST), ("worse", WORSE)):
        evaluated(name, solved)
    found = board()
    assert [(str(row.standing.ranks), row.standing.ties, row.standing.tied) for row in found.rows] == [
        ("1–3", "a", False), ("1–3", "a", True), ("1–3", "a", True),
    ]  # fmt: skip
    assert [row.rank for row in found.rows] == [1, 1, 3]


def test_a_pinned_baseline_has_its_own_family_of_comparisons() -> None:
    rows = {name: evaluated(name, solved) for name, solved in (("best", BEST), ("like it", BEST), ("worse", WORSE))}
    found = board(baseline=str(rows["worse"].pk))
    assert found.pinned
    by_name = {row.entry.name: row.standing for row in found.rows}
    assert by_name["worse"].delta is None
    delta = by_name["best"].delta
    assert delta is not None
    assert delta.p == pytest.approx(2 * 0.04703103, abs=1e-7)  # Holm over two comparisons
    assert "differences to the pinned baseline for 2 comparisons" in found.family


def test_a_filter_makes_a_smaller_family() -> None:
    rows = {name: evaluated(name, solved) for name, solved in (("best", BEST), ("like it", BEST), ("worse", WORSE))}
    found = board(q="BEST", baseline=str(rows["worse"].pk))
    assert [row.entry.name for row in found.rows] == ["best"]
    delta = found.rows[0].standing.delta
    assert delta is not None
    assert delta.p == pytest.approx(0.04703103, abs=1e-7)


def test_other_conditions_are_not_ranked_and_say_what_differs(browser: Client) -> None:
    usual = version(4)
    evaluated("one", "1100", usual)
    evaluated("two", "1000", usual)
    cold = SuiteVersion.objects.create(
        suite=usual.suite,
        number=2,
        document=document(problems=4, temperature=0.0).model_dump(mode="json") | {"version": 2},
        key="",
    )
    evaluated("cold", "1111", cold)
    found = board()
    assert [row.entry.name for row in found.rows] == ["one", "two"]
    assert [(other.differences, [one.name for one in other.entries]) for other in found.others] == [
        (["Bandit: temperature 0.0, not 0.5"], ["cold"])
    ]
    page = browser.get("/leaderboard/?suite=bandits").content.decode()
    assert "Not comparable with the rows above: Bandit: temperature 0.0, not 0.5" in page
    # the other way round, from the address
    other = board(key=found.others[0].short_key)
    assert [row.entry.name for row in other.rows] == ["cold"]
    assert other.others[0].differences == ["Bandit: temperature 0.5, not 0.0"]


def test_a_baseline_of_other_conditions_is_not_used() -> None:
    usual = version(4)
    evaluated("one", "1100", usual)
    evaluated("two", "1000", usual)
    other = SuiteVersion.objects.create(
        suite=usual.suite, number=2, document=document(problems=4, samples=2).model_dump(mode="json"), key=""
    )
    row = evaluated("twice", "11 10 00 00", other)
    add_new_entries()
    key = Entry.objects.exclude(pk=row.pk).values_list("key", flat=True)[0]
    found = board(baseline=str(row.pk), key=key[:12])
    assert (found.pinned, found.unlisted_baseline) == (False, "was evaluated under other conditions")
    assert board(baseline="999999").unlisted_baseline == "no longer exists"


def test_entries_are_sorted_by_any_column_with_the_unknown_last() -> None:
    suite = version(4)
    for name, solved, seen in (("a", "1100", 3), ("b", "1000", 9), ("c", "1111", None)):
        row = evaluated(name, solved, suite)
        row.items.update(trained_on=seen)
    add_new_entries()
    Entry.objects.filter(name="a").update(updates=5)
    assert [row.entry.name for row in board(sort="-updates").rows] == ["a", "c", "b"]
    assert [row.entry.name for row in board(sort="name").rows] == ["a", "b", "c"]
    assert [row.entry.seen for row in board(sort="name").rows] == [0.75, 2.25, None]
    assert [row.rank for row in board(sort="name").rows] == [2, 3, 1]  # always by success


def test_training_seeds_are_grouped_and_have_their_own_interval() -> None:
    suite = version(6, samples=1)
    scores = {"A": ["110100", "100100", "111100"], "B": ["000000", "100000", "000000"]}
    for configuration, seeds in scores.items():
        for seed, solved in enumerate(seeds):
            run = build_run(name=f"{configuration}{seed}")
            evaluated(
                "x", solved, suite, policy=PolicyKind.CHECKPOINT, run=run, run_name=run.name, step=10,
                training_seed=seed, configuration=configuration,
            )  # fmt: skip
    evaluated("endpoint", "111111", suite)
    found = board(**{"as": "configuration"})
    assert [(row.entry.configuration, row.seeds) for row in found.rows] == [("", 1), ("A", 3), ("B", 3)]
    group = found.rows[1]
    assert group.success == pytest.approx(0.5)
    # over seeds: means 3/6, 2/6, 4/6, sd 1/6, t 4.302653: .5 +- .414; over problems SE .187577, t(5) 2.570582
    assert group.interval == pytest.approx((0.5 - 0.414024, 0.5 + 0.414024), abs=1e-5)
    assert group.problem_interval == pytest.approx((0.5 - 0.482182, 0.5 + 0.482182), abs=1e-5)
    assert found.rows[0].standing.ranks is None  # one seed says nothing of the method
    assert "Welch" in board(**{"as": "configuration", "baseline": str(group.entry.pk)}).family


def test_training_seeds_with_equal_results_have_no_interval(browser: Client) -> None:
    suite = version(4, samples=1)
    for seed, solved in enumerate(("1100", "0011")):
        run = build_run(name=f"seed {seed}")
        evaluated(
            "x", solved, suite, policy=PolicyKind.CHECKPOINT, run=run, run_name=run.name, step=10,
            training_seed=seed, configuration="A",
        )  # fmt: skip
    [group] = board(**{"as": "configuration"}).rows
    assert (group.success, group.interval, group.seeds) == (0.5, None, 2)
    shown = cell(group, COLUMNS["success"])
    assert (shown.text, shown.interval) == ("50.0%", "")
    assert shown.title == "2 training seeds, all equal, which gives no interval"
    assert f'title="{shown.title}' in browser.get("/leaderboard/?suite=bandits&as=configuration").content.decode()


def test_of_a_seed_with_several_checkpoints_the_newest_counts_and_the_list_says_how_many() -> None:
    suite, run = version(4), build_run(name="calm-otter")
    for step, solved in ((10, "1111"), (20, "1000")):
        evaluated(
            "x", solved, suite, policy=PolicyKind.CHECKPOINT, run=run, run_name=run.name, step=step,
            training_seed=1, configuration="A",
        )  # fmt: skip
    assert [(row.entry.step, row.checkpoints) for row in board().rows] == [(10, 2), (20, 2)]
    assert [row.success for row in board(**{"as": "configuration"}).rows] == [0.25]


def test_only_finished_evaluations_with_a_score_are_listed() -> None:
    suite = version(4)
    evaluated("done", "1100", suite)
    evaluated("failed", "1100", suite, state=JobState.FAILED)
    evaluated("running", "1100", suite, state=JobState.RUNNING)
    evaluated("nothing", "----", suite)
    found = board()
    assert [row.entry.name for row in found.rows] == ["done"]
    assert (found.in_progress, found.unfinished) == (1, 1)


def test_a_suite_with_more_rows_than_pairs_are_compared_with_the_best(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("board", "standings"):
        monkeypatch.setattr(f"webapp.leaderboard.{module}.MOST_PAIRS", 2)
    for name, solved in (("best", BEST), ("like it", BEST), ("worse", WORSE)):
        evaluated(name, solved)
    found = board()
    assert [row.standing.ranks for row in found.rows] == [None] * 3
    assert [row.standing.tied for row in found.rows] == [False, True, True]  # .0470 of two comparisons
    assert "Ties of more than 2 rows are not computed" in found.family


def test_the_address_says_everything_and_nothing_that_is_usual() -> None:
    assert BoardQuery(suite="s").address() == "suite=s"
    full = (
        "suite=s&q=x+y&policy=endpoint&sort=tokens&as=configuration&baseline=7&key=abc&show=cost&against=hours&page=3"
    )
    query = read_query({
        "suite": "s", "q": "x y", "policy": "endpoint", "sort": "tokens", "as": "configuration", "baseline": "7",
        "key": "abc", "show": "cost", "against": "hours", "page": "3",
    })  # fmt: skip
    assert query.address(page=3) == full
    assert query.sorted_by("tokens") == full.replace("sort=tokens", "sort=-tokens").removesuffix("&page=3")
    assert (
        read_query({"sort": "nonsense", "policy": "?", "baseline": "²", "key": "xyz", "page": "0", "against": "?"})
        == BoardQuery()
    )


def test_the_page_shows_ties_intervals_and_links(browser: Client) -> None:
    first, other = evaluated("best", BEST), evaluated("worse", WORSE)
    page = browser.get("/leaderboard/").content.decode()
    assert f"/leaderboard/pair/?first={other.pk}&amp;other={first.pk}" in page
    assert "33.6%" in page  # 86 of 256
    assert "28.1–39.6%" in page  # Wilson
    assert "-5.1 points, 95% interval -9.7 to -0.3, adjusted p = 0.047, on 256 problems" in page
    cost = browser.get("/leaderboard/?show=cost").content.decode()
    assert "Hours to 50%" in cost
    assert "Training cost" in page


def test_without_evaluations_on_suites_it_shows_those_of_runs(browser: Client) -> None:
    page = browser.get("/leaderboard/").content.decode()
    assert "No finished runs yet" in page
    evaluated("best", "1100", version(4))
    assert "Runs’ own evaluations" in browser.get("/leaderboard/").content.decode()
    assert "No finished runs yet" in browser.get("/leaderboard/runs/").content.decode()
    assert browser.get("/leaderboard/?suite=unknown").status_code == 404
    suite_version(document("unused"))
    assert "No entries yet" in browser.get("/leaderboard/?suite=unused").content.decode()


def test_three_seeds_that_differ_from_the_best_by_luck_are_tied_with_it() -> None:
    # means .75, .5, .25 with a standard deviation of .05: Welch's t 6.124 (p .003603) and 12.247 with 4 degrees of
    # freedom; D has a mean of .5 and a standard deviation of .4, and differs from none
    suite = version(20)
    for configuration, counts in {"A": (14, 15, 16), "B": (9, 10, 11), "C": (4, 5, 6), "D": (2, 10, 18)}.items():
        for seed, solved in enumerate(counts):
            evaluated("x", "1" * solved + "0" * (20 - solved), suite, training_seed=seed, configuration=configuration)
    found = board(**{"as": "configuration"})
    standing = {row.entry.configuration: row.standing for row in found.rows}
    assert {name: str(one.ranks) for name, one in standing.items()} == {"A": "1–2", "B": "2–3", "C": "3–4", "D": "1–4"}
    assert standing["D"].tied
    delta = standing["B"].delta
    assert delta is not None
    assert delta.p == pytest.approx(5 * 0.003603, abs=1e-4)  # second smallest of six
    pinned = board(**{"as": "configuration", "baseline": str(found.rows[0].entry.pk)})
    delta = {row.entry.configuration: row.standing for row in pinned.rows}["B"].delta
    assert delta is not None
    assert delta.p == pytest.approx(2 * 0.003603, abs=1e-4)  # second smallest of three
