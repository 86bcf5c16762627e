"""The curves that a run's page shows before its scripts have loaded."""

from __future__ import annotations

import re

import pytest
from django.test import Client

from engine.metrics import OVERVIEW
from tests.webapp.runs.rows import a_run, report
from webapp.run_pages.chart_previews import chart_previews, path_of, smoothed


def test_a_moving_average_starts_at_the_first_value_without_bias() -> None:
    # mass 0.5, then 0.75: 1 + 0.5 / 0.75 * (4 - 1) = 3
    assert smoothed([1.0, 4.0], 0.5) == pytest.approx([1.0, 3.0])
    assert smoothed([0.7] * 5) == [0.7] * 5


def test_a_path_runs_left_to_right_with_high_values_at_the_top() -> None:
    points = [(0, 0.0), (5, 1.0), (10, 0.25)]
    assert path_of(points, x_range=(0, 10), y_range=(0, 1)) == "M0 1000L500 0L1000 750"


def test_a_logarithmic_path_skips_values_that_are_not_positive() -> None:
    # 0.01 to 1 is two decades, and 0.1 is in the middle
    points = [(0, 0.01), (5, 0.0), (5, 0.1), (10, 1.0)]
    assert path_of(points, x_range=(0, 10), y_range=(0.01, 1), is_log=True) == "M0 1000L500 500L1000 0"


def test_a_single_point_is_a_dash_and_a_flat_curve_is_centred() -> None:
    assert path_of([(3, 0.5)], x_range=(3, 3), y_range=(0, 1)) == "M500 500h1"
    assert path_of([(0, 2.0), (1, 2.0)], x_range=(0, 1), y_range=(2, 2)) == "M0 500L1000 500"


@pytest.mark.django_db
def test_every_overview_chart_has_a_container_and_those_with_values_have_a_curve() -> None:
    run = a_run()
    report(run, 0.0, 0.5, 1.0)
    previews = {preview.key: preview for preview in chart_previews(run)}
    assert list(previews) == [chart.names[0] for chart in OVERVIEW]
    success = previews["rollout/success"]
    assert (success.low, success.high, success.first_step, success.last_step) == ("0", "1", 1, 3)
    # smoothed by 0.6: 0, then 0.4 / 0.64 * 0.5 = 0.3125, then 0.3125 + 0.4 / 0.784 * 0.6875 = 0.66327
    assert [curve.path for curve in success.curves] == ["M0 1000L500 688L1000 337"]
    assert previews["collapse/mi_ratio"].curves == []


@pytest.mark.django_db
def test_the_page_includes_the_curves(browser: Client) -> None:
    run = a_run()
    report(run, 0.0, 0.5, 1.0)
    page = browser.get(f"/runs/{run.pk}/").content.decode()
    assert re.findall(r'<section class="panel chart" data-preview="([^"]+)"', page) == [c.names[0] for c in OVERVIEW]
    assert 'd="M0 1000L500 688L1000 337"' in page


@pytest.mark.django_db
def test_a_run_without_steps_has_empty_charts(browser: Client) -> None:
    page = browser.get(f"/runs/{a_run().pk}/").content.decode()
    assert page.count("data-preview=") == len(OVERVIEW)
    assert "chart-preview" not in page
