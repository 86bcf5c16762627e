"""What an entry has: measures from the outcomes, with intervals, and what its training took."""

from __future__ import annotations

import pytest

from tests.builders.runs import add_evaluation, build_run
from tests.builders.suites import document, suite_evaluation, suite_version
from webapp.leaderboard.costs import TrainingCost, training_cost
from webapp.leaderboard.entries import add_entry, add_new_entries
from webapp.leaderboard.models import Entry
from webapp.runs.models import Run, StepMetrics
from webapp.suites.models import PolicyKind

pytestmark = pytest.mark.django_db


def trained(run: Run, *, steps: int, tokens: int = 1000, seconds: float = 36.0, mean: float = 50.0) -> None:
    for step in range(1, steps + 1):
        StepMetrics.objects.create(
            run=run, seq=step, step=step, time=0.0, tokens=tokens * step, seconds=seconds * step,
            metrics={"rollout/response_tokens": mean},
        )  # fmt: skip


def test_measures_come_from_the_outcomes_with_intervals_over_problems() -> None:
    # the builder's episodes have 1 turn, 10 tokens, and a return of 1 if solved
    version = suite_version(document(problems=4, samples=2))
    evaluation = suite_evaluation({"Bandit": ["11", "10", "00", "10"]}, version=version, write_file=True)
    entry = add_entry(evaluation)
    assert (entry.success, entry.mean_return, entry.turns, entry.tokens, entry.well_formed) == (0.5, 0.5, 1, 10, 1)
    # pass@2: 1, 1, 0, 1; pass^2: 1, 0, 0, 0
    assert (entry.pass_at, entry.pass_all) == (0.75, 0.25)
    value, low, high = entry.measures["return"]
    assert 0.0 <= low < value < high <= 1.0
    assert entry.measures["tokens"] == [10, None, None]  # the same on all problems, so that nothing is known of others
    assert entry.measures["well_formed"] == pytest.approx([1, 0.510109, 1])  # Wilson, 4 of 4: 4 / (4 + 1.959964^2)
    assert (entry.problems, entry.samples, entry.planned, entry.scored) == (4, 2, 8, 8)


def test_without_the_file_means_remain_and_pass_at_k_still_has_its_interval() -> None:
    version = suite_version(document(problems=4, samples=2))
    entry = add_entry(suite_evaluation({"Bandit": ["11", "10", "00", "10"]}, version=version))
    assert entry.measures["turns"] == [1, None, None]
    assert entry.measures["pass@2"][1] is not None
    assert entry.tokens == 10


def test_a_sample_without_a_score_leaves_pass_at_k_unknown() -> None:
    version = suite_version(document(problems=4, samples=2))
    entry = add_entry(suite_evaluation({"Bandit": ["11", "1-", "00", "10"]}, version=version, write_file=True))
    assert (entry.pass_at, entry.pass_all, entry.scored) == (None, None, 7)


def test_an_evaluation_is_listed_once_and_again_when_it_changes() -> None:
    evaluation = suite_evaluation({"Bandit": ["1", "1", "0", "0"]})
    assert add_new_entries() == 0
    assert add_new_entries() == 0
    assert Entry.objects.count() == 1
    evaluation.success = 0.75
    add_entry(evaluation)
    assert Entry.objects.get().success == 0.75


def test_training_costs_are_those_up_to_the_checkpoint() -> None:
    run = build_run()
    trained(run, steps=30)
    for step, successes in ((0, 10), (10, 100), (20, 140), (30, 90)):
        add_evaluation(run, successes=successes, step=step, final=False)
    # 1,000 tokens a step of 50 per response: 20 turns a step; 36 s are .01 hours of one CPU; 140/256 is above 50%
    found = training_cost(run, 30)
    assert (found.updates, found.environment_turns, found.generated_tokens, found.device) == (30, 600, 30_000, "CPU")
    assert (found.device_hours, found.half_hours) == pytest.approx((0.3, 0.2))
    assert (found.half_updates, found.half_known) == (20, True)
    early = training_cost(run, 10)
    assert (early.updates, early.generated_tokens, early.half_updates, early.half_known) == (10, 10_000, None, True)


def test_a_fork_has_the_steps_of_its_ancestors() -> None:
    parent = build_run(name="parent")
    trained(parent, steps=40)
    fork = build_run(name="fork")
    fork.forked_from, fork.fork_step, fork.ancestor_steps = parent, 20, 20
    fork.save()
    trained(fork, steps=10, seconds=72.0)
    found = training_cost(fork, 10)
    assert (found.updates, found.environment_turns, found.generated_tokens) == (30, 600, 30_000)
    assert found.device_hours == pytest.approx(20 * 0.01 + 10 * 0.02)
    fork.forked_from = None  # deleted: what it took is not known
    fork.save()
    assert (training_cost(fork, 10).updates, training_cost(fork, 10).generated_tokens) == (30, None)


def test_what_is_not_known_is_not_zero() -> None:
    assert training_cost(None, None) == TrainingCost()
    run = build_run()
    assert training_cost(run, 60) == TrainingCost(updates=60, device="CPU")
    entry = add_entry(
        suite_evaluation({"Bandit": ["1", "1", "0", "0"]}, policy=PolicyKind.ENDPOINT, model="gpt", endpoint="http://x")
    )
    assert (entry.updates, entry.device_hours, entry.half_updates, entry.half_known) == (None, None, None, False)
