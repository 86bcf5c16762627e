"""pass@k and pass^k by hand and by enumeration of subsets."""

from __future__ import annotations

from itertools import combinations
from statistics import fmean

import numpy as np
import pytest

from engine.statistics.pass_at_k import (
    pass_all_k,
    pass_all_k_many,
    pass_at_k,
    pass_at_k_many,
    suite_pass_all_k,
    suite_pass_at_k,
)


@pytest.mark.parametrize(
    ("samples", "successes", "k", "any_of", "all_of"),
    [
        (10, 3, 1, 0.3, 0.3),
        (10, 3, 2, 1 - 21 / 45, 3 / 45),  # C(7,2) = 21, C(10,2) = 45, C(3,2) = 3
        (10, 3, 5, 1 - 21 / 252, 0.0),  # C(7,5) = 21, C(10,5) = 252
        (10, 3, 8, 1.0, 0.0),  # 8 of 10 cannot all be among 7 failures
        (16, 1, 8, 0.5, 0.0),
        (16, 4, 8, 0.96153846, 0.0),
        (5, 2, 3, 0.9, 0.0),  # 1 - C(3,3)/C(5,3)
        (8, 8, 4, 1.0, 1.0),
        (8, 0, 4, 0.0, 0.0),
    ],
)
def test_pass_at_k_by_hand(samples: int, successes: int, k: int, any_of: float, all_of: float) -> None:
    assert pass_at_k(samples, successes, k) == pytest.approx(any_of, abs=1e-8)
    assert pass_all_k(samples, successes, k) == pytest.approx(all_of, abs=1e-8)


def test_pass_at_k_is_the_share_of_subsets_with_a_success() -> None:
    outcomes = [1, 0, 0, 1, 0, 0, 0]
    for k in range(1, 8):
        subsets = list(combinations(outcomes, k))
        assert pass_at_k(7, 2, k) == pytest.approx(fmean(any(subset) for subset in subsets))
        assert pass_all_k(7, 2, k) == pytest.approx(fmean(all(subset) for subset in subsets))


def test_pass_at_k_of_many_samples_neither_overflows_nor_rounds_to_nothing() -> None:
    # one success in n: a subset of k holds it with chance k/n
    assert pass_at_k(100_000, 1, 7) == pytest.approx(7e-5, rel=1e-9)
    assert pass_at_k(100_000, 50_000, 1000) == pytest.approx(1.0)


def test_fewer_samples_than_k_have_no_estimate() -> None:
    assert pass_at_k(3, 3, 4) is None
    assert suite_pass_at_k([(4, 1), (3, 1)], 4) is None
    assert suite_pass_at_k([], 1) is None


def test_a_suite_averages_over_prompts() -> None:
    suite = [(10, successes) for successes in (3, 0, 10, 6)]
    assert suite_pass_at_k(suite, 2) == pytest.approx(0.6)
    assert suite_pass_at_k(suite, 5) == pytest.approx(0.72916667)
    assert suite_pass_all_k(suite, 2) == pytest.approx(0.35)


@pytest.mark.parametrize(("samples", "successes", "k"), [(3, 4, 1), (3, -1, 1), (3, 1, 0)])
def test_impossible_counts_are_refused(samples: int, successes: int, k: int) -> None:
    with pytest.raises(ValueError, match=r"are impossible|is not defined"):
        pass_at_k(samples, successes, k)


def test_arrays_agree_with_one_prompt_at_a_time() -> None:
    samples, successes = np.array([10, 10, 5, 8, 8, 3]), np.array([3, 10, 2, 8, 0, 3])
    for k in (1, 2, 5, 8):
        for many, one in ((pass_at_k_many, pass_at_k), (pass_all_k_many, pass_all_k)):
            expected = [one(int(n), int(c), k) for n, c in zip(samples, successes, strict=True)]
            found = many(samples, successes, k)
            assert found.tolist() == pytest.approx([np.nan if p is None else p for p in expected], nan_ok=True)
    with pytest.raises(ValueError, match="4 successes in 3 samples are impossible"):
        pass_at_k_many([5, 3], [1, 4], 1)
