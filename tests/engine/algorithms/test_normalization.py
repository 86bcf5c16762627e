"""Score normalisation: which trajectories together, by which method, and what is left alone."""

from __future__ import annotations

import statistics
from dataclasses import replace
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.algorithms.normalization import METHODS, normalized
from engine.algorithms.variants.grpo import Grpo
from engine.rollout.batching import collate
from engine.training.credit import with_normalized_scores
from tests.engine.algorithms.test_credit import batch_of
from tests.engine.rollout.builders import lake_config, say

TOGETHER = torch.tensor([0, 0, 0, 1])


def test_the_mean_is_taken_among_those_together_and_one_alone_keeps_its_score() -> None:
    # mean of 1, 2, 6 is 3
    assert normalized(torch.tensor([1.0, 2, 6, 5]), TOGETHER, "mean").tolist() == [-2, -1, 3, 5]


def test_mean_std_divides_by_the_unbiased_standard_deviation() -> None:
    # 1, 2, 6: squares 4 + 1 + 9 = 14, over 2 is 7
    found = normalized(torch.tensor([1.0, 2, 6, 5]), TOGETHER, "mean_std")
    assert found.tolist() == pytest.approx([-2 / 7**0.5, -1 / 7**0.5, 3 / 7**0.5, 5.0], abs=1e-5)


def test_asym_clip_keeps_rare_success_and_bounds_failure() -> None:
    # 0 nineteen times and 1: mean 0.05, std 0.2236: -0.2236 and 4.2485, kept at 3; turned round -4.2485, kept at -1
    rare = torch.tensor([0.0] * 19 + [1.0])
    together = torch.zeros(20, dtype=torch.long)
    found = normalized(rare, together, "asym_clip")
    assert (float(found[0]), float(found[-1])) == (pytest.approx(-0.2236, abs=1e-4), 3.0)
    assert float(normalized(1 - rare, together, "asym_clip")[-1]) == -1.0


@pytest.mark.parametrize("method", sorted(METHODS))
def test_equal_scores_become_exactly_0(method: Any) -> None:
    assert not normalized(torch.full((7,), 0.1), torch.zeros(7, dtype=torch.long), method).any()


@settings(max_examples=40, deadline=None)
@given(batch=st.lists(st.tuples(st.floats(-5, 5, width=32), st.integers(0, 2)), min_size=1, max_size=10))
def test_mean_std_is_its_plain_definition(batch: list[tuple[float, int]]) -> None:
    expected = []
    for value, number in batch:
        others = [v for v, n in batch if n == number]
        std = statistics.stdev(others) if len(others) > 1 else 0.0
        plain = (value - statistics.fmean(others)) / (std + 1e-6) if std > 1e-6 else 0.0
        expected.append(value if len(others) == 1 else plain)
    scores, together = torch.tensor([v for v, _ in batch]), torch.tensor([n for _, n in batch])
    assert normalized(scores, together, "mean_std").tolist() == pytest.approx(expected, abs=1e-3)


def normalizing(among: str, method: str) -> Grpo:
    return Grpo.model_validate({"credit": {"type": "trajectory", "normalization": {"type": method, "among": among}}})


def test_returns_stay_raw_and_the_given_batch_stays_as_it_is() -> None:
    batch = collate(say(lake_config(), ["nothing", "</think><answer>Right</answer>"]))
    before = batch.scores.clone()
    found = with_normalized_scores(normalizing("batch", "mean"), batch)
    assert torch.equal(found.returns, batch.returns) and torch.equal(batch.scores, before)
    torch.testing.assert_close(found.scores, before - before.mean())
    assert with_normalized_scores(Grpo(), batch) is batch


# two problems of one environment, one problem of another that pays more
PROBLEMS, TAGS, SCORES = [0, 0, 1, 1, 2, 2], [0, 0, 0, 0, 1, 1], [0.0, 2, 4, 6, 10, 30]
# std of two numbers is their distance over sqrt(2), so by problem each is 1/sqrt(2) from its mean
HALF = 0.7071068
BY_HAND: dict[tuple[str, str], list[float]] = {
    ("group", "mean"): [-1, 1, -1, 1, -10, 10],
    ("group", "mean_std"): [-HALF, HALF, -HALF, HALF, -HALF, HALF],
    ("group", "asym_clip"): [-HALF, HALF, -HALF, HALF, -HALF, HALF],
    # of 0, 2, 4, 6 the mean is 3, the squares 9 + 1 + 1 + 9 = 20, the variance 20 / 3, the std 2.5819889
    ("environment", "mean"): [-3, -1, 1, 3, -10, 10],
    ("environment", "mean_std"): [-1.1618950, -0.3872983, 0.3872983, 1.1618950, -HALF, HALF],
    ("environment", "asym_clip"): [-1, -0.3872983, 0.3872983, 1.1618950, -HALF, HALF],
    # of all six the mean is 52 / 6, the squares add up to 605.33333, the variance is 121.06667, the std 11.0030299
    ("batch", "mean"): [-8.6666667, -6.6666667, -4.6666667, -2.6666667, 1.3333333, 21.3333333],
    ("batch", "mean_std"): [-0.7876618, -0.6058937, -0.4241256, -0.2423575, 0.1211787, 1.9388599],
    ("batch", "asym_clip"): [-0.7876618, -0.6058937, -0.4241256, -0.2423575, 0.1211787, 1.9388599],
}


@pytest.mark.parametrize(("among", "method"), BY_HAND)
def test_scores_of_two_environments_are_normalised_among_those_that_were_asked_for(among: str, method: str) -> None:
    made = batch_of(torch.ones(6, 2), SCORES, groups=PROBLEMS)
    found = with_normalized_scores(normalizing(among, method), replace(made, tags=torch.tensor(TAGS)))
    assert found.scores.tolist() == pytest.approx(BY_HAND[among, method], abs=1e-5)
    assert found.returns.tolist() == SCORES
