"""Wilson's and Newcombe's intervals against published values, by their equations, and by another implementation."""

from __future__ import annotations

from math import sqrt

import numpy as np
import pytest
from scipy.stats import binomtest, norm

from engine.statistics.proportions import (
    Z95,
    difference_of_rates,
    mean_of_rates,
    newcombe,
    newcombe_many,
    newcombe_p_many,
    wilson,
    wilson_many,
)


@pytest.mark.parametrize(
    ("successes", "trials", "low", "high"),
    [
        (61, 256, 0.190205, 0.294096),
        (82, 256, 0.266174, 0.379764),
        (5, 10, 0.236593, 0.763407),
        (1, 16, 0.011119, 0.283287),
        (128, 512, 0.214448, 0.289275),
        (205, 1024, 0.176827, 0.225804),
        (0, 256, 0.0, 0.014784),  # z^2 / (n + z^2) = 3.841459 / 259.841459
        (256, 256, 0.985216, 1.0),
        # Newcombe 1998 (two-sided intervals for the single proportion), table I, method 3
        (81, 263, 0.2553, 0.3662),
        (15, 148, 0.0624, 0.1605),
        (1, 29, 0.0061, 0.1718),
    ],
)
def test_wilson_gives_the_published_numbers(successes: int, trials: int, low: float, high: float) -> None:
    digits = 5e-5 if trials in (263, 148, 29) else 1e-6
    assert wilson(successes, trials) == pytest.approx((low, high), abs=digits)


def test_the_ends_of_wilson_solve_its_equation() -> None:
    # (rate - p)^2 = z^2 p (1 - p) / n
    for end in wilson(61, 256):
        assert abs(61 / 256 - end) == pytest.approx(Z95 * sqrt(end * (1 - end) / 256), abs=1e-12)


def test_wilson_of_failures_is_the_mirror_image() -> None:
    low, high = wilson(61, 256)
    assert wilson(195, 256) == pytest.approx((1 - high, 1 - low), abs=1e-12)


def test_wilson_agrees_with_scipy_on_every_count_of_a_suite() -> None:
    low, high = wilson_many(np.arange(41), 40)
    for successes in range(41):
        ends = binomtest(successes, 40).proportion_ci(0.95, method="wilson")
        assert (low[successes], high[successes]) == pytest.approx((ends.low, ends.high), abs=1e-12)


def test_no_or_only_successes_have_exact_ends_and_a_width() -> None:
    assert wilson(0, 20).low == 0.0 and wilson(20, 20).high == 1.0
    assert wilson(0, 20).high == pytest.approx(3.841459 / 23.841459, abs=1e-6)  # z^2 / (n + z^2)
    assert wilson(20, 20).low == pytest.approx(20 / 23.841459, abs=1e-6)


def test_no_trials_leave_the_rate_unknown() -> None:
    assert wilson(0, 0) == (0.0, 1.0)
    low, high = wilson_many([0, 5], [0, 10])
    assert (low[0], high[0]) == (0.0, 1.0) and low[1] == pytest.approx(0.236593, abs=1e-6)


@pytest.mark.parametrize(("successes", "trials"), [(1, 0), (3, 2), (-1, 5), (float("nan"), 5)])
def test_impossible_counts_are_refused(successes: float, trials: int) -> None:
    with pytest.raises(ValueError, match="give 0 <= successes <= trials"):
        wilson(successes, trials)


def test_newcombe_combines_the_two_wilson_intervals() -> None:
    # 82/256 - 61/256 = 21/256 = .082031; the ends are .082031 -/+ root sums of the distances to Wilson's ends:
    # low:  sqrt((.320313 - .266174)^2 + (.294096 - .238281)^2) = .077757
    # high: sqrt((.379764 - .320313)^2 + (.238281 - .190205)^2) = .076458
    assert newcombe(82, 256, 61, 256) == pytest.approx((0.004274, 0.158489), abs=1e-6)


def test_newcombe_gives_the_published_numbers() -> None:
    # Newcombe 1998 (interval estimation for the difference), table II, method 10, contrasts (a), (d) and (h)
    assert newcombe(56, 70, 48, 80) == pytest.approx((0.0524, 0.3339), abs=5e-5)
    assert newcombe(5, 56, 0, 29) == pytest.approx((-0.0381, 0.1926), abs=5e-5)
    assert newcombe(10, 10, 0, 10) == pytest.approx((0.6075, 1.0), abs=5e-5)


def test_the_p_is_that_of_the_interval_that_ends_at_zero() -> None:
    p = newcombe_p_many(82, 256, [61, 82, 110], 256)
    assert p[1] == pytest.approx(1.0)
    for successes, own in zip((61, 110), p[[0, 2]], strict=True):
        z = norm.isf(own / 2)
        bounds, others = wilson_many(82, 256, z), wilson_many(successes, 256, z)
        low, high = difference_of_rates(82 / 256, bounds, successes / 256, others)
        assert min(abs(low), abs(high)) == pytest.approx(0, abs=1e-9)
    assert p[0] == pytest.approx(0.0387, abs=1e-4)  # the 95% interval, .0043 to .1585, is just above 0
    assert newcombe_p_many([256, 0], 256, [0, 0], 256) == pytest.approx([0, 1])


def test_a_p_of_at_most_five_percent_goes_with_an_interval_without_zero() -> None:
    successes, others = np.meshgrid(range(13), range(9))
    low, high = newcombe_many(successes, 12, others, 8)
    assert ((newcombe_p_many(successes, 12, others, 8) <= 0.05) == ((low > 0) | (high < 0))).all()


def test_swapping_the_two_turns_the_difference_around() -> None:
    low, high = newcombe(82, 256, 61, 256)
    assert newcombe(61, 256, 82, 256) == pytest.approx((-high, -low), abs=1e-12)


def test_one_entry_is_compared_with_many_at_once() -> None:
    low, high = newcombe_many(82, 256, [61, 82, 0], [256, 256, 64])
    for index, (successes, trials) in enumerate([(61, 256), (82, 256), (0, 64)]):
        assert (low[index], high[index]) == newcombe(82, 256, successes, trials)


def test_a_difference_to_a_rate_without_trials_is_refused() -> None:
    with pytest.raises(ValueError, match="at least one trial"):
        newcombe(1, 2, 0, 0)


def test_the_mean_of_rates_adds_distances_in_squares() -> None:
    # 0.4 - sqrt(0.1^2 + 0.1^2) / 2 and 0.4 + sqrt(0.1^2 + 0.2^2) / 2
    low, high = mean_of_rates([(0.5, 0.4, 0.6), (0.3, 0.2, 0.5)])
    assert (low, high) == pytest.approx((0.4 - sqrt(0.02) / 2, 0.4 + sqrt(0.05) / 2))
    own = wilson(61, 256)
    assert mean_of_rates([(61 / 256, own.low, own.high)]) == pytest.approx((own.low, own.high))
    # of many items with the same interval it narrows by the square root of their number
    low, high = mean_of_rates([(0.5, 0.3, 0.7)] * 16)
    assert (low, high) == pytest.approx((0.45, 0.55))
