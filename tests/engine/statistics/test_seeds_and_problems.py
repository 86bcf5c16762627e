"""Two levels of uncertainty: what comes from training seeds, and what from problems."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from engine.statistics.clustered import cluster_error
from engine.statistics.means import t_interval
from engine.statistics.seeds_and_problems import two_levels

SCORES = [[1, 1, 0, 1, 0, 0], [1, 0, 0, 1, 0, 0], [1, 1, 1, 1, 0, 0]]


def test_components_by_hand() -> None:
    # means of seeds 3/6, 2/6, 4/6: MS 6 x (1/36 + 1/36) / 2 = 1/6; of problems 1, 2/3, 1/3, 1, 0, 0: MS
    # 3 x 1.0556 / 5 = .63333; the rest .1. So seeds (1/6 - .1) / 6, problems (.63333 - .1) / 3
    found = two_levels(SCORES)
    assert found.mean == pytest.approx(0.5)
    assert found.seed_variance == pytest.approx(0.01111111)
    assert found.problem_variance == pytest.approx(0.17777778)
    assert found.rest_variance == pytest.approx(0.1)
    # sqrt of .166667/18, .633333/18 and (.166667 + .633333 - .1)/18
    assert (found.over_seeds, found.over_problems, found.over_both) == pytest.approx(
        (0.096225, 0.187577, 0.197203), abs=1e-6
    )


def test_over_seeds_it_is_t_of_the_seeds_and_over_problems_the_clustered_error() -> None:
    found = two_levels(SCORES)
    of_seeds = t_interval([sum(row) / 6 for row in SCORES])
    assert of_seeds is not None
    assert found.seed_interval == pytest.approx(of_seeds)
    problems = [list(map(float, column)) for column in zip(*SCORES, strict=True)]
    assert found.over_problems == pytest.approx(cluster_error(problems))


def test_the_three_intervals_have_their_coverage() -> None:
    # over other seeds and problems, drawn with standard deviations .1 and .2, and .3 of the rest; 600 draws of 5 x 12
    stream = np.random.default_rng(7)
    hits = 0
    for _ in range(600):
        seeds, problems = stream.normal(0, 0.1, (5, 1)), stream.normal(0, 0.2, (1, 12))
        hits += two_levels(seeds + problems + stream.normal(0, 0.3, (5, 12))).both_interval.contains(0.0)
    assert 0.93 < hits / 600 < 0.985


def test_a_component_below_zero_is_zero() -> None:
    # both seeds have a mean of 1/2, so the rest would make the variance of seeds negative
    found = two_levels([[1, 0, 1, 0], [0, 1, 0, 1]])
    assert (found.seed_variance, found.over_seeds, found.seed_interval) == (0.0, 0.0, (0.5, 0.5))
    assert found.over_both >= found.over_problems


@pytest.mark.parametrize("scores", [[[1.0, 0.0]], [[1.0], [0.0]], [[1.0, math.nan], [1.0, 0.0]], [1.0, 0.0]])
def test_too_little_is_refused(scores: Any) -> None:
    with pytest.raises(ValueError, match="two seeds and two problems"):
        two_levels(scores)
