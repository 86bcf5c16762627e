"""Means over groups of runs with their bands."""

from __future__ import annotations

import math

import numpy as np
import pytest

from engine.statistics.group_bands import group_band

NAN = math.nan
VALUES = np.array([[1.0, 2.0, NAN], [2.0, NAN, NAN], [3.0, 4.0, NAN]])  # three runs at three steps


def test_the_mean_is_over_the_runs_with_a_value() -> None:
    found = group_band(VALUES, "std")
    assert found.mean[:2].tolist() == [2.0, 3.0]
    assert math.isnan(found.mean[2])
    assert found.count.tolist() == [3, 2, 0]


# of 1, 2, 3 the standard deviation is 1; of 2, 4 it is √2 = 1.41421, and its standard error is √2 / √2 = 1
@pytest.mark.parametrize(
    ("kind", "first", "second"),
    [
        ("std", (1.0, 3.0), (3 - 1.41421, 3 + 1.41421)),
        ("se", (2 - 0.57735, 2 + 0.57735), (2.0, 4.0)),  # 1 / √3
        ("ci", (2 - 2.48414, 2 + 2.48414), (NAN, NAN)),  # 4.30265 / √3; too few with two runs
        ("minmax", (1.0, 3.0), (2.0, 4.0)),
    ],
)
def test_each_band_by_hand(kind: str, first: tuple[float, float], second: tuple[float, float]) -> None:
    found = group_band(VALUES, kind)  # type: ignore[arg-type]
    assert (found.low[0], found.high[0]) == pytest.approx(first, abs=1e-5)
    assert (found.low[1], found.high[1]) == pytest.approx(second, abs=1e-5, nan_ok=True)


@pytest.mark.parametrize("kind", ["std", "se", "ci", "minmax"])
def test_one_run_has_no_band(kind: str) -> None:
    found = group_band(np.array([[5.0]]), kind)  # type: ignore[arg-type]
    assert found.mean.tolist() == [5.0]
    assert math.isnan(found.low[0]) and math.isnan(found.high[0])


def test_no_runs_have_no_mean() -> None:
    found = group_band(np.zeros((0, 2)), "minmax")
    assert found.count.tolist() == [0, 0]
    assert np.isnan(found.mean).all()
