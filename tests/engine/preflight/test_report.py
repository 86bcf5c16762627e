"""What a pre-flight reports of returns that are known, with numbers worked out by hand."""

from __future__ import annotations

import re

import pytest

from engine.preflight.report import Problem, Rollout, difficulty, report, verdict


def problem(*values: float | None, length: int | None = 2, identity: str = "a", malformed: int = 0) -> Problem:
    """A rollout of one turn for each value; it succeeds if its value is 1 or more."""
    rollouts = [
        Rollout(value=value, success=(value or 0) >= 1, turns=1, malformed=malformed, stop="terminated")
        for value in values
    ]
    known = "unknown" if length is None else "known"
    return Problem(seed=0, identity=identity, solution=known, length=length, rollouts=rollouts)


def test_the_numbers_of_two_problems() -> None:
    found = report(
        [problem(1, 0, 0, 1, identity="a"), problem(0, 0, 0, 0, length=9, identity="b")],
        player="random", rollouts=4, budget=5, shared=1,
    )  # fmt: skip
    # 1, 0, 0, 1 has mean 1/2 and variance 1/4, the other 0; together 2 of 8 are 1: mean 1/4, variance 1/4 * 3/4
    assert [(one["mean"], one["variance"]) for one in found["problems"]] == [(0.5, 0.25), (0.0, 0.0)]
    assert (found["mean"], found["variance_within"], found["variance_total"]) == (0.25, 0.125, 0.1875)
    assert found["shares"] == {"easy": 0.0, "mixed": 0.5, "hard": 0.5}
    assert (found["varied"], found["success"]) == (0.5, 0.25)
    assert (found["lengths"], found["over_budget"], found["distinct"], found["shared"]) == ([2, 9], 1, 2, 1)


def test_a_problem_is_easy_mixed_or_hard() -> None:
    assert [difficulty(one) for one in (problem(1, 1), problem(1, 0), problem(0, 0), problem())] == [
        "easy", "mixed", "hard", "",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("problems", "level", "words"),
    [
        ([problem(1, 0), problem(0, 1)], "good", "In 2 of 2 problems the rewards of the rollouts differ, so RL has"),
        ([problem(1, 1), problem(1, 1)], "bad", "every rollout succeeds"),
        ([problem(0, 0), problem(-1, -1)], "bad", "no rollout succeeds"),
        ([problem(1, 1), problem(0, 0)], "bad", "all get the same reward"),
        ([problem(1, 0), *[problem(0, 0)] * 9], "warn", "In 1 of 10 problems .* easier"),
        ([problem(1, 0), *[problem(1, 1)] * 9], "warn", "In 1 of 10 problems .* harder"),
        ([problem(0.5, 0, malformed=1)], "warn", "100% of the responses are malformed"),
        ([problem(-0.1, -0.2), problem(-0.3, -0.1)], "warn", "no rollout succeeds: the differences are not in success"),
        ([problem(1, 0, length=6), problem(0, 1, length=3)], "warn", "more than the 5 actions"),
        ([problem(1, 0, length=None)], "good", "so RL has something to learn"),
        ([problem(1), problem(0)], "warn", "play at least two"),
        ([problem(None, None)], "bad", "the environment failed in all of them"),
        ([problem(1, 0, None, 1)], "bad", "failed in 1 of 4 rollouts"),
    ],
)
def test_the_verdict(problems: list[Problem], level: str, words: str) -> None:
    found = verdict(problems, budget=5)
    assert found.level == level
    assert re.search(words, found.text)
