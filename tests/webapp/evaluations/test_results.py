"""Held-out results of compared runs: paired on shared problems, and in words that say on how many."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from django.test import Client

from tests.builders.runs import add_evaluation, build_run, record_outcomes
from webapp.evaluations.models import ProblemList
from webapp.evaluations.results import MOST_CHOICES, chosen_pair, results
from webapp.runs.models import Run

pytestmark = pytest.mark.django_db


def pair(**other: object) -> list[Run]:
    return [build_run(name="one"), build_run(name="two", config=dict(other))]


def summary(runs: list[Run]) -> str:
    found = results(runs)[0].difference
    assert found is not None
    return found.summary or found.note


def test_two_runs_are_compared_problem_by_problem() -> None:
    one, two = pair()
    # 61 solved by both, 25 and 12 by just one: 13/256 = 5.1 points, Bonett and Price .003346 to .097429. As independent
    # episodes 86 and 73 of 256 would not differ significantly.
    add_evaluation(one, successes=86, outcomes="1" * 61 + "1" * 25 + "0" * 12 + "0" * 158)
    add_evaluation(two, successes=73, outcomes="1" * 61 + "0" * 25 + "1" * 12 + "0" * 158)
    assert ProblemList.objects.count() == 1
    assert summary([one, two]) == (
        "+5.1 points (95% interval +0.3 to +9.7), paired on the 256 problems that both played: significant"
    )
    assert summary([two, one]).startswith("-5.1 points (95% interval -9.7 to -0.3)")


def test_evaluations_of_different_sizes_are_compared_on_the_smaller_one() -> None:
    run = build_run()
    # 256 episodes at step 20 and 512 at step 100, of which the first 256 are the same problems with the same outcomes:
    # all the others are solved, so the rates are 25% and 62.5%
    few = "1" * 64 + "0" * 192
    add_evaluation(run, successes=64, step=20, final=False, outcomes=few)
    add_evaluation(run, successes=320, episodes=512, step=100, outcomes=few + "1" * 256)
    [(first, other, found)] = chosen_pair([run], {}).rows
    assert (first.step, other.step) == (100, 20)
    # no discordant problem: Bonett and Price 0 +- 1.96 sqrt(2/258/258) = 1.1 points
    assert found.summary == (
        "+0.0 points (95% interval -1.1 to +1.1), paired on the 256 problems that both played (25.0% and 25.0% of "
        "them): not significant"
    )


def test_checkpoints_of_a_lineage_are_not_compared_without_their_problems() -> None:
    parent, fork = pair()
    fork.forked_from, fork.fork_step = parent, 20
    add_evaluation(parent, successes=82)
    add_evaluation(fork, successes=61)
    assert summary([parent, fork]).startswith("Not compared: checkpoints of one lineage")


def test_unrelated_runs_without_their_problems_are_compared_as_independent() -> None:
    one, two = pair()
    add_evaluation(one, successes=82)
    add_evaluation(two, successes=61)
    # 21/256 = 8.2 points; Newcombe's interval .004274 to .158489
    assert summary([one, two]) == (
        "+8.2 points (95% interval +0.4 to +15.8), 256 and 256 episodes taken as independent, since their problems "
        "were not recorded: significant"
    )


def test_episodes_of_a_single_problem_are_independent() -> None:
    one, two = pair()
    for run, successes in ((one, 3), (two, 1)):
        row = add_evaluation(run, successes=successes, episodes=4)
        record_outcomes(row, "1" * successes + "0" * (4 - successes), problems=[7] * 4)
    assert "4 and 4 episodes taken as independent, all of one problem: not significant" in summary([one, two])


def test_evaluations_without_common_problems_are_not_compared() -> None:
    one, two = pair()
    for run, first in ((one, 0), (two, 10)):
        row = add_evaluation(run, successes=2, episodes=4)
        record_outcomes(row, "1100", problems=range(first, first + 4))
    assert summary([one, two]) == "Not compared: fewer than two problems were played in both evaluations."


def test_runs_on_other_environments_have_no_difference() -> None:
    one, two = pair(environments=[{"tag": "FrozenLake", "max_turns": 4}])
    add_evaluation(one, successes=82)
    add_evaluation(two, successes=61)
    assert summary([one, two]) == "Not comparable: the environments differ in max_turns."


def test_any_two_evaluations_can_be_chosen_and_few_of_a_long_run_are_offered() -> None:
    run = build_run()
    for step in range(200):
        add_evaluation(run, successes=8, episodes=16, step=step, final=False, outcomes="10" * 8)
    found = chosen_pair([run], {"first": f"{run.pk}@17", "other": f"{run.pk}@151"})
    assert [(one.step, other.step) for one, other, _ in found.rows] == [(17, 151)]
    steps = [choice.step for choice in found.choices]
    assert {0, 17, 151, 199} <= set(steps) and len(steps) <= MOST_CHOICES + 3
    assert chosen_pair([run], {"first": f"{run.pk}@17", "other": "nothing@1"}).rows == ()


def test_the_page_compares_the_newest_evaluation_of_a_run_with_its_first(client: Client) -> None:
    client.force_login(User.objects.create_user("ada"))
    run = build_run(name="calm-otter")
    add_evaluation(run, successes=4, episodes=16, step=0, final=False, outcomes="1" * 4 + "0" * 12)
    add_evaluation(run, successes=12, episodes=16, step=60, outcomes="1" * 12 + "0" * 4)
    page = " ".join(client.get(f"/compare/?runs={run.pk}&x=tokens").content.decode().split())
    assert "calm-otter at step 60 solved 12/16, calm-otter at step 0 4/16. Difference +50.0 points" in page
    assert '<input type="hidden" name="x" value="tokens">' in page
