"""Buckets against a plain loop over each of them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from webapp.live.buckets import Band, Buckets

Column = Sequence[float | None]


def band_of(cut: Buckets, column: Column, steps: list[int], *, real: bool = False) -> Band:
    return cut.band(np.array(column, dtype=float), np.array(steps, dtype=int), last_value=real)


def by_a_plain_loop(column: Column, steps: list[int], most: int) -> list[tuple[object, ...]]:
    found: list[tuple[object, ...]] = []
    for bucket in range(most):
        indices = range(len(column) * bucket // most, len(column) * (bucket + 1) // most)
        there = [(value, steps[i]) for i in indices if (value := column[i]) is not None]
        if not there:
            found.append((None, None, None, None, None))
            continue
        mean = sum(value for value, _ in there) / len(there)
        (low, low_at), (high, high_at) = min(there), max(there)
        found.append((pytest.approx(mean), low, high, low_at, high_at))
    return found


@pytest.mark.parametrize(("length", "most"), [(10, 3), (17, 16), (100, 7), (101, 100), (5, 1)])
@pytest.mark.parametrize("share", [1.0, 0.5, 0.05])
def test_bands_equal_those_of_a_plain_loop(length: int, most: int, share: float) -> None:
    random = np.random.default_rng(length + most)
    rough = random.integers(-3, 4, length).tolist()  # with many equal values
    column = [float(value) if random.random() < share else None for value in rough]
    steps = (2 * np.arange(length) + 5).tolist()
    band = band_of(Buckets(length, most), column, steps)
    rows = zip(band["mean"], band["low"], band["high"], band["low_at"], band["high_at"], strict=True)
    assert list(rows) == by_a_plain_loop(column, steps, most)


def test_a_short_series_is_not_downsampled() -> None:
    cut = Buckets(3, 3)
    assert (cut.thinned, cut.ends.tolist()) == (False, [0, 1, 2])
    assert band_of(cut, [1.0, None, 3.0], [1, 2, 3]) == {
        "mean": [1.0, None, 3.0], "low": [], "high": [], "low_at": [], "high_at": [],
    }  # fmt: skip


def test_the_marked_value_is_that_of_the_last_index() -> None:
    band = band_of(Buckets(4, 2), [1.0, 2.0, 8.0, None], [1, 2, 3, 4], real=True)
    assert (band["mean"], band["high"], band["high_at"]) == ([2.0, None], [2.0, 8.0], [2, 3])


def test_an_empty_series_has_no_buckets() -> None:
    cut = Buckets(0, 600)
    assert (cut.count, cut.ends.tolist(), band_of(cut, [], [])["mean"]) == (0, [], [])
