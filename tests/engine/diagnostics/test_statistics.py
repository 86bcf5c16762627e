"""Wilson's interval against published values and its edges."""

from __future__ import annotations

import pytest

from engine.diagnostics.statistics import wilson_interval


@pytest.mark.parametrize(
    ("successes", "episodes", "low", "high"),
    # 81 of 263 and 15 of 148 are Newcombe's examples (1998, table I, method 3)
    [(5, 10, 0.2366, 0.7634), (81, 263, 0.2553, 0.3662), (15, 148, 0.0624, 0.1605), (1, 29, 0.0061, 0.1718)],
)
def test_known_intervals(successes: int, episodes: int, low: float, high: float) -> None:
    assert wilson_interval(successes, episodes) == pytest.approx((low, high), abs=5e-5)


def test_no_or_only_successes_still_have_a_width() -> None:
    # 0 of 20: the upper end is z^2 / (n + z^2) = 3.8415 / 23.8415
    assert wilson_interval(0, 20) == pytest.approx((0.0, 0.1611), abs=5e-5)
    assert wilson_interval(20, 20) == pytest.approx((0.8389, 1.0), abs=5e-5)


def test_no_episodes_say_nothing() -> None:
    assert wilson_interval(0, 0) == (0.0, 1.0)


def test_a_smaller_z_is_narrower() -> None:
    wide, narrow = wilson_interval(5, 10), wilson_interval(5, 10, z=1.0)
    assert wide[0] < narrow[0] < narrow[1] < wide[1]


@pytest.mark.parametrize(("successes", "episodes"), [(-1, 5), (6, 5)])
def test_impossible_counts_are_refused(successes: int, episodes: int) -> None:
    with pytest.raises(ValueError, match="cannot be"):
        wilson_interval(successes, episodes)
