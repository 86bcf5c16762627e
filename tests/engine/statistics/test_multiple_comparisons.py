"""Holm's adjustment by hand and by its definition."""

from __future__ import annotations

import random

import pytest

from engine.statistics.multiple_comparisons import holm


def test_five_p_values_by_hand_in_the_order_given() -> None:
    # ordered: 5 x .005, 4 x .01, 3 x .03, then 2 x .04 = .08 which is raised to .09 before it, 1 x .2
    assert holm([0.010, 0.040, 0.030, 0.005, 0.200]) == pytest.approx([0.04, 0.09, 0.09, 0.025, 0.20])


def test_ten_p_values() -> None:
    ten = [0.001, 0.008, 0.039, 0.041, 0.042, 0.06, 0.074, 0.205, 0.212, 0.216]
    assert holm(ten) == pytest.approx([0.01, 0.072, *[0.312] * 5, *[0.615] * 3])


def test_pairwise_comparisons_of_five_entries() -> None:
    # z tests of .62, .58, .57 and .53 +- .02 and .40 +- .03, all ten pairs; those with the last three below 1e-5
    pairs = [0.157299, 0.077100, 0.001463, 1e-9, 0.723674, 0.077100, 1e-7, 0.157299, 1e-6, 0.000311]
    adjusted = [0.471897, 0.385500, 0.008778, 1e-8, 0.723674, 0.385500, 9e-7, 0.471897, 8e-6, 0.002177]
    assert holm(pairs) == pytest.approx(adjusted, abs=1e-6)


def test_adjusted_values_lie_between_raw_and_bonferroni_and_keep_ties() -> None:
    stream = random.Random(1)
    raw = [stream.random() ** 3 for _ in range(200)]
    raw[7] = raw[90]
    adjusted = holm(raw)
    assert all(p <= q <= min(1.0, 200 * p) for p, q in zip(raw, adjusted, strict=True))
    assert adjusted[7] == adjusted[90]
    order = sorted(range(200), key=raw.__getitem__)
    assert sorted(adjusted) == [adjusted[index] for index in order]


def test_no_comparisons_and_impossible_p_values() -> None:
    assert holm([]).tolist() == []
    for wrong in (1.2, -0.1, float("nan")):
        with pytest.raises(ValueError, match="between 0 and 1"):
            holm([0.5, wrong])
