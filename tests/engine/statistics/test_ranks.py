"""Rank ranges and groups of ties from matrices of adjusted p-values."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from engine.statistics.ranks import holm_of_pairs, rank_ranges, tie_groups, tie_letters

# five independent means .62, .58, .57, .53, .40, with p-values by z of their differences
MEANS = np.array([0.62, 0.58, 0.57, 0.53, 0.40])
P = {
    "AB": 0.157299, "AC": 0.077100, "AD": 0.001463, "AE": 1e-6, "BC": 0.723674,
    "BD": 0.077100, "BE": 1e-6, "CD": 0.157299, "CE": 1e-6, "DE": 0.000311,
}  # fmt: skip


def adjusted() -> np.ndarray:
    raw = np.ones((5, 5))
    for names, p in P.items():
        one, other = ("ABCDE".index(name) for name in names)
        raw[one, other] = raw[other, one] = p
    return holm_of_pairs(raw)


def test_holm_counts_each_pair_once() -> None:
    found = adjusted()
    # of 10 pairs: DE is fourth with 7 x .000311, AD fifth with 6 x .001463, AC and BD 5 x .0771, AB and CD 3 x .157299
    expected = {"DE": 0.002177, "AD": 0.008778, "AC": 0.3855, "BD": 0.3855, "AB": 0.471897, "BC": 0.723674}
    for names, p in expected.items():
        one, other = ("ABCDE".index(name) for name in names)
        assert found[one, other] == found[other, one] == pytest.approx(p, abs=1e-6)
    assert np.diag(found).tolist() == [1.0] * 5


def test_a_rank_range_counts_what_is_significantly_better_and_worse() -> None:
    # only D and E are significantly worse than A, E than all
    found = rank_ranges(MEANS[:, None] - MEANS[None, :], adjusted())
    assert [str(one) for one in found] == ["1–3", "1–4", "1–4", "2–4", "5"]


def test_ties_are_runs_of_entries_without_a_significant_difference() -> None:
    assert tie_groups(adjusted()) == [[0, 1, 2], [1, 2, 3], [4]]
    assert tie_letters(adjusted()) == ["a", "ab", "ab", "b", "c"]


def test_groups_are_all_largest_sets_of_ties_even_of_entries_that_are_not_neighbours() -> None:
    stream = np.random.default_rng(1)
    for _ in range(30):
        p = np.triu(stream.choice([0.01, 0.5], size=(8, 8)), 1)
        p = p + p.T + np.eye(8)
        sets = [
            set(group)
            for size in range(1, 9)
            for group in combinations(range(8), size)
            if all(p[one, other] > 0.05 for one, other in combinations(group, 2))
        ]
        largest = [group for group in sets if not any(group < other for other in sets)]
        assert tie_groups(p) == sorted(sorted(group) for group in largest)


def test_a_noisy_entry_is_tied_with_the_best_although_one_between_is_not() -> None:
    p = np.array([[1.0, 0.01, 0.4], [0.01, 1.0, 0.6], [0.4, 0.6, 1.0]])
    assert tie_letters(p) == ["a", "b", "ab"]


def test_too_many_groups_are_those_of_neighbours() -> None:
    # tied with all but one other entry each: 2^20 groups
    index = np.arange(40)
    p = np.where(index[:, None] // 2 == index[None, :] // 2, 0.01, 0.5)
    np.fill_diagonal(p, 1.0)
    assert tie_groups(p)[:2] == [[0], [1, 2]]


def test_an_entry_of_many_groups_has_their_first_and_last_letter() -> None:
    # neighbours up to 4 apart are tied, so that of 40 entries all but the outer ones are in 5 groups
    index = np.arange(40)
    p = np.where(np.abs(index[:, None] - index[None, :]) <= 4, 1.0, 0.001)
    letters = tie_letters(p)
    assert (letters[0], letters[1], letters[4], letters[27]) == ("a", "ab", "a–e", "x–ab")


def test_a_single_entry_is_first() -> None:
    assert rank_ranges(np.zeros((1, 1)), np.ones((1, 1))) == [(1, 1)]
    assert tie_letters(np.ones((1, 1))) == ["a"]
    assert tie_letters(np.ones((0, 0))) == []
