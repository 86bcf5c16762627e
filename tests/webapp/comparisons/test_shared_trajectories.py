"""The same held-out problems in several runs."""

from __future__ import annotations

import pytest

from tests.builders.runs import build_run
from webapp.comparisons.shared_trajectories import shared_problems
from webapp.runs.models import Run
from webapp.trajectories.models import Trajectory

pytestmark = pytest.mark.django_db


def record(run: Run, seed: int, *, success: bool, step: int = 60, split: str = "validation") -> Trajectory:
    return Trajectory.objects.create(
        run=run, step=step, split=split, environment="FrozenLake", kind="frozen_lake", group=seed, member=0, seed=seed,
        success=success, episode_return=float(success), score=0.0, turns=3, response_tokens=9, parse_failures=0,
        stop="done", file="x", offset=0, length=1,
    )  # fmt: skip


def test_problems_that_only_some_runs_solve_come_first() -> None:
    one, two = build_run(), build_run()
    for seed, (first, second) in enumerate([(True, True), (True, False)], start=1):
        record(one, seed, success=first)
        record(two, seed, success=second)
    record(one, 3, success=True)  # of one run only
    found = shared_problems([one, two])
    assert [problem.seed for problem in found.problems] == [2, 1]
    assert (found.total, found.differing) == (2, 1)
    assert [cell.run_id for cell in found.problems[0].cells if cell] == [one.pk, two.pk]


def test_only_the_newest_evaluation_of_each_run_counts() -> None:
    one, two = build_run(), build_run()
    record(one, 1, success=False, step=20)
    record(one, 1, success=True, step=60)
    record(two, 1, success=True, step=40)
    record(two, 2, success=True, step=20)
    record(one, 2, success=True, split="train")
    (problem,) = shared_problems([one, two]).problems
    assert [cell.step for cell in problem.cells if cell] == [60, 40]


def test_the_same_seed_in_another_environment_is_another_problem() -> None:
    one = build_run()
    two = build_run()
    two.config["environments"][0]["instruction"] = "Play."
    two.save()
    record(one, 1, success=True)
    record(two, 1, success=False)
    assert shared_problems([one, two]).total == 0
