"""Wilson and Newcombe against numbers worked out by hand."""

from __future__ import annotations

from math import sqrt

import pytest

from webapp.evaluations.intervals import Z95, newcombe, wilson


@pytest.mark.parametrize(
    ("successes", "episodes", "low", "high"),
    [
        # the ends solve (rate - p)^2 = z^2 p (1 - p) / n
        (61, 256, 0.190205, 0.294096),
        (82, 256, 0.266174, 0.379764),
        (5, 10, 0.236593, 0.763407),
        (1, 16, 0.011119, 0.283287),
        (0, 256, 0.0, 0.014784),
        (256, 256, 0.985216, 1.0),
    ],
)
def test_wilson_gives_the_textbook_numbers(successes: int, episodes: int, low: float, high: float) -> None:
    assert wilson(successes, episodes) == pytest.approx((low, high), abs=1e-6)


def test_the_ends_of_wilson_solve_its_equation() -> None:
    rate = 61 / 256
    for end in wilson(61, 256):
        assert abs(rate - end) == pytest.approx(Z95 * sqrt(end * (1 - end) / 256), abs=1e-12)


def test_wilson_of_failures_is_the_mirror_image() -> None:
    low, high = wilson(61, 256)
    assert wilson(195, 256) == pytest.approx((1 - high, 1 - low), abs=1e-12)


def test_newcombe_combines_the_two_wilson_intervals() -> None:
    # 82/256 - 61/256 = 21/256 = .082031; the ends are .082031 -/+ root sums of the distances to Wilson's ends:
    # low:  sqrt((.320313 - .266174)^2 + (.294096 - .238281)^2) = .077757
    # high: sqrt((.379764 - .320313)^2 + (.238281 - .190205)^2) = .076458
    assert newcombe(82, 256, 61, 256) == pytest.approx((0.004274, 0.158489), abs=1e-6)


def test_swapping_the_two_turns_the_difference_around() -> None:
    low, high = newcombe(82, 256, 61, 256)
    assert newcombe(61, 256, 82, 256) == pytest.approx((-high, -low), abs=1e-12)


@pytest.mark.parametrize(("successes", "episodes"), [(1, 0), (3, 2), (-1, 5)])
def test_what_is_no_rate_is_refused(successes: int, episodes: int) -> None:
    with pytest.raises(ValueError, match="is no rate"):
        wilson(successes, episodes)
