"""Charts of reports as SVG."""

from __future__ import annotations

import math

import pytest

from webapp.comparisons.group_curves import GroupCurve
from webapp.reports.line_chart import Drawn, Look, line_chart, log_ticks, smoothed, ticks


def curve(mean: list[float | None], **columns: list[float | None]) -> GroupCurve:
    count = len(mean)
    empty: list[float | None] = [None] * count
    return {
        "steps": list(range(1, count + 1)),
        "mean": mean,
        "low": columns.get("low", empty),
        "high": columns.get("high", empty),
        "count": [int(one or 0) for one in columns.get("count", [1] * count)],
        "tokens": [100.0 * step for step in range(1, count + 1)],
        "seconds": empty,
        "elapsed": empty,
    }


def drawn(one: GroupCurve) -> list[Drawn]:
    return [Drawn(name="calm-otter", colour=3, dash=0, curve=one)]


def test_a_share_is_drawn_from_zero_to_one() -> None:
    chart = line_chart("rollout/success", drawn(curve([0.0, 1.0])), Look(smoothing=0))
    # x from 62 to 548, y from 240 (0) to 10 (1)
    assert chart.lines[0].path == "M62,240 L548,10"
    assert chart.lines[0].value == "1"
    assert [text for _, text in chart.up] == ["0", "0.2", "0.4", "0.6", "0.8", "1"]


def test_the_band_follows_the_upper_edge_and_returns_along_the_lower_one() -> None:
    one = curve([0.5, 0.5], low=[0.0, 0.25], high=[1.0, 0.75])
    (line,) = line_chart("rollout/success", drawn(one), Look(smoothing=0)).lines
    assert line.band == "M62,10 L548,67.5 L548,182.5 L62,240Z"


def test_beyond_the_end_of_a_run_the_line_goes_on_separately() -> None:
    one = curve([0.0, 0.0, 1.0], count=[2, 2, 1])
    (line,) = line_chart("rollout/success", drawn(one), Look(smoothing=0)).lines
    assert line.path == "M62,240 L305,240"
    assert line.rest == "M305,240 L548,10"


def test_a_logarithmic_axis_counts_what_it_leaves_out() -> None:
    chart = line_chart("optim/grad_norm", drawn(curve([0.0, 0.1, 10.0])), Look(smoothing=0, log=True))
    assert chart.left_out == 1
    assert chart.lines[0].path == "M305,240 L548,10"


def test_an_axis_that_a_run_has_no_positions_on_is_empty() -> None:
    assert line_chart("a/b", drawn(curve([1.0])), Look(axis="seconds")).is_empty
    assert line_chart("a/b", drawn(curve([])), Look()).is_empty
    assert line_chart("a/b", [], Look()).is_empty


def test_a_window_cuts_the_line() -> None:
    chart = line_chart("rollout/success", drawn(curve([0.0, 0.5, 1.0])), Look(smoothing=0, window=(2.0, 3.0)))
    assert chart.lines[0].path == "M62,125 L548,10"


def test_smoothing_begins_at_the_first_value() -> None:
    # weight 0.5: 1, then (0.5 · 1 · 0.5 + 0.5 · 4) / 0.75 = 3
    assert smoothed([1.0, 4.0], 0.5) == pytest.approx([1.0, 3.0])


@pytest.mark.parametrize(
    ("low", "high", "found"),
    [
        (0.001, 1000, [0.001, 0.01, 0.1, 1, 10, 100, 1000]),
        (0.4, 6, [0.5, 1, 2, 5]),
        (0.35, 0.65, [0.4, 0.5, 0.6]),
        (0.51, 0.56, [0.52, 0.54, 0.56]),
    ],
)
def test_ticks_of_a_logarithmic_axis_are_round(low: float, high: float, found: list[float]) -> None:
    assert log_ticks(math.log10(low), math.log10(high)) == pytest.approx(found)


@pytest.mark.parametrize(
    ("low", "high", "first", "last"), [(0, 1, 0, 1), (0, 97, 0, 80), (-3, 3, -2, 2), (10, 10.5, 10, 10.5)]
)
def test_ticks_are_round_numbers_inside(low: float, high: float, first: float, last: float) -> None:
    found = ticks(low, high)
    assert (found[0], found[-1]) == pytest.approx((first, last))
    assert 3 <= len(found) <= 7
