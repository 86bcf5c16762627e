"""Chart gestures: zoom and reset by mouse, keyboard and touch; marks that link onwards; exports that match the page;
axis scales that persist."""

from __future__ import annotations

import csv
import re
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.builders.long_run import long_run
from tests.e2e.charts import NORM, PATIENCE, SUCCESS, drawn, page, recorded_run
from tests.e2e.open_site import needs_chromium
from tests.e2e.threads import in_thread
from webapp.runs.models import RunEvent

__all__ = ["page"]

pytestmark = [pytest.mark.e2e, needs_chromium, pytest.mark.django_db(transaction=True)]

ACROSS = "plot => plot._fullLayout.xaxis.range.map(end => Math.round(100 * end) / 100)"
UP = "plot => plot._fullLayout.yaxis.range.map(end => Math.round(100 * end) / 100)"
HOSTILE = "Entropy fell <img src=x onerror=alert(1)>."


def box_of(page: Page, chart: str) -> Any:
    return page.locator(f"{chart} .nsewdrag").bounding_box()


def comes_to(page: Page, plot: Locator, what: str, value: list[float]) -> None:
    page.wait_for_function(
        f"([plot, value]) => ({what})(plot).join() === value.join()", arg=[plot.element_handle(), value]
    )


def test_a_double_click_resets_both_axes(page: Page) -> None:
    page.goto(f"/runs/{recorded_run(HOSTILE).run.pk}/")
    plot = drawn(page, SUCCESS)
    whole, across = plot.evaluate(UP), plot.evaluate(ACROSS)
    box = box_of(page, SUCCESS)
    page.mouse.move(box["x"] + 0.3 * box["width"], box["y"] + 0.3 * box["height"])
    page.mouse.down()
    page.mouse.move(box["x"] + 0.6 * box["width"], box["y"] + 0.8 * box["height"], steps=5)
    page.mouse.up()
    page.wait_for_function(f"plot => ({ACROSS})(plot)[1] < 15", arg=plot.element_handle())
    assert plot.evaluate(UP) != whole
    page.locator(f"{SUCCESS} .nsewdrag").dblclick(position={"x": 40, "y": 100})
    comes_to(page, plot, ACROSS, across)
    comes_to(page, plot, UP, whole)


def test_keys_zoom_in_out_and_reset(page: Page) -> None:
    page.goto(f"/runs/{recorded_run(HOSTILE).run.pk}/")
    plot = drawn(page, SUCCESS)
    across = plot.evaluate(ACROSS)
    plot.focus()
    page.keyboard.press("+")  # half of 1 to 20 around 10.5
    comes_to(page, plot, ACROSS, [5.75, 15.25])
    comes_to(page, drawn(page, NORM), ACROSS, [5.75, 15.25])
    page.keyboard.press("+")
    comes_to(page, plot, ACROSS, [8.13, 12.88])
    page.keyboard.press("-")
    comes_to(page, plot, ACROSS, [5.75, 15.25])
    expect(page).to_have_url(re.compile(r"zoom=5\.75\.\.15\.25"))
    page.keyboard.press("0")
    comes_to(page, plot, ACROSS, across)
    page.keyboard.press("?")
    expect(page.locator("#keys")).to_contain_text("zoom in, zoom out, reset")


def test_swiping_over_a_chart_scrolls_the_page(page: Page) -> None:
    pk = recorded_run(HOSTILE).run.pk
    browser, known = page.context.browser, page.context.cookies()
    assert browser is not None
    page.goto("/runs/")
    origin = page.evaluate("location.origin")
    context = browser.new_context(
        base_url=origin, viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True
    )
    context.add_cookies([{"name": one["name"], "value": one["value"], "url": origin} for one in known])
    phone = context.new_page()
    phone.set_default_timeout(PATIENCE)
    phone.goto(f"/runs/{pk}/")
    plot = drawn(phone, SUCCESS)
    plot.scroll_into_view_if_needed()
    before, across = phone.evaluate("scrollY"), plot.evaluate(ACROSS)
    box = box_of(phone, SUCCESS)
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] * 0.9
    line = context.new_cdp_session(phone)
    line.send("Input.dispatchTouchEvent", {"type": "touchStart", "touchPoints": [{"x": x, "y": y}]})
    for moved in range(15, 136, 15):
        line.send("Input.dispatchTouchEvent", {"type": "touchMove", "touchPoints": [{"x": x, "y": y - moved}]})
    line.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
    phone.wait_for_function("before => scrollY > before + 40", arg=before)
    assert plot.evaluate(ACROSS) == across
    context.close()


def test_an_alert_on_a_chart_has_a_tooltip_and_links_to_its_evidence(page: Page) -> None:
    recorded = recorded_run(HOSTILE)
    [seq] = in_thread(lambda: list(RunEvent.objects.filter(kind="alert_raised").values_list("seq", flat=True)))
    page.goto(f"/runs/{recorded.run.pk}/")
    drawn(page, SUCCESS)
    mark = page.locator(f"{SUCCESS} .annotation").first
    mark.hover()
    tooltip = page.locator(f"{SUCCESS} .hoverlayer")
    expect(tooltip).to_contain_text("step 12")
    expect(tooltip).to_contain_text("warn: entropy_fall")
    expect(tooltip).to_contain_text(HOSTILE)
    mark.click()
    expect(page).to_have_url(re.compile(rf"/alerts/{seq}/$"))


def exported(page: Page, chart: str, ending: str, folder: Path) -> str:
    page.locator(f"{chart} .chart-menu summary").click()
    with page.expect_download() as download:
        page.locator(chart).get_by_role("button", name=ending).click()
    download.value.save_as(folder / ending)
    return (folder / ending).read_text()


def test_a_picture_has_a_legend_and_a_csv_has_held_out_points(page: Page, tmp_path: Path) -> None:
    page.goto(f"/runs/{recorded_run(HOSTILE).run.pk}/")
    drawn(page, SUCCESS)
    picture = exported(page, SUCCESS, "SVG", tmp_path)
    assert "Training success" in picture and "held out, 95% interval" in picture
    assert "legend" not in exported(page, NORM, "SVG", tmp_path)  # the title of a single line is the metric
    head, *rows = csv.reader(exported(page, SUCCESS, "CSV", tmp_path).splitlines())
    held_out = ["eval/Lake/success", "eval/Lake/success/low", "eval/Lake/success/high"]
    assert head == ["step", "tokens", "training_seconds", "unix_time", "rollout/success", *held_out]
    assert len(rows) == 20
    with_points = {row[0]: [float(cell) for cell in row[5:]] for row in rows if row[5]}
    assert list(with_points) == ["10", "20"]
    share, low, high = with_points["10"]
    assert (round(share - low, 9), round(high - share, 9)) == (0.06, 0.06)


def test_a_point_of_a_downsampled_run_opens_the_steps_it_covers(page: Page) -> None:
    recorded = in_thread(lambda: long_run(2400, spike_at=801))
    page.goto(f"/runs/{recorded.run.pk}/")
    drawn(page, NORM).focus()
    page.keyboard.press("ArrowLeft")  # the newest of 600 buckets of four steps
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile(r"/trajectories/\?step_low=2397&step_high=2400$"))


def test_a_changed_axis_scale_is_kept_in_the_url_and_in_a_layout(page: Page) -> None:
    recorded = recorded_run(HOSTILE)
    kind = "plot => plot._fullLayout.yaxis.type"
    page.goto(f"/runs/{recorded.run.pk}/?charts=policy%252Fentropy#panels")
    chart = '#charts-panels [data-chart="policy/entropy"]'
    assert drawn(page, chart).evaluate(kind) == "linear"
    page.locator(chart).get_by_role("button", name="log").click()
    expect(page).to_have_url(re.compile(r"log=policy"))
    page.reload()
    assert drawn(page, chart).evaluate(kind) == "log"
    page.get_by_role("button", name="Edit layout").click()
    expect(page.get_by_role("button", name="Logarithmic axis of chart 1")).to_have_attribute("aria-pressed", "true")
    page.get_by_label("Layout name").fill("Logs")
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.locator("#panel-choices [aria-pressed=true]")).to_have_text("Logs")
    expect(page).not_to_have_url(re.compile(r"log=policy"))
    page.reload()
    assert drawn(page, chart).evaluate(kind) == "log"


def test_small_charts_share_the_crosshair_and_export_their_values(page: Page, tmp_path: Path) -> None:
    page.goto(f"/runs/{recorded_run(HOSTILE).run.pk}/#rollouts")
    expect(page.locator("#rollouts-curves")).to_contain_text("Surplus actions")
    expect(page.locator("#rollouts-curves")).not_to_contain_text("[object")
    length = page.locator("#rollouts-curves .lines").first
    plot = length.locator(".lines-plot > svg")
    drawn(page, '#charts-rollouts [data-chart="reward/mean"]')
    # 44 pixels lie before the first of 20 steps and 16 after the last: 19 gaps between them
    width = length.evaluate("chart => chart.querySelector('.lines-plot > svg').clientWidth - 60")
    plot.hover(position={"x": 44 + 9 * width / 19, "y": 60})
    expect(length.locator(".lines-here")).to_have_text("step 10")
    expect(page.locator('#charts-rollouts [data-chart="reward/mean"] .chart-crosshair')).to_be_visible()
    page.mouse.move(5, 5)
    expect(length.locator(".lines-here")).to_have_text("")
    page.locator('#charts-rollouts [data-chart="reward/mean"] .chart-plot').focus()
    page.keyboard.press("ArrowLeft")
    expect(length.locator(".lines-here")).to_have_text("step 20")
    with page.expect_download() as download:
        length.get_by_role("button", name="CSV").click()
    assert download.value.suggested_filename == "response-length.csv"
    download.value.save_as(tmp_path / "numbers")
    head, *rows = csv.reader((tmp_path / "numbers").read_text().splitlines())
    assert (head, len(rows)) == (["step", "mean", "limit"], 20)


def test_small_charts_show_the_window_of_all_charts(page: Page) -> None:
    page.goto(f"/runs/{recorded_run(HOSTILE).run.pk}/?zoom=5.5..15.2#rollouts")
    length = page.locator("#rollouts-curves .lines").first
    plot, frame = length.locator(".lines-plot > svg"), length.locator(".lines-plot")
    points = "frame => frame.querySelector('polyline')?.getAttribute('points').split(' ').length"
    # the steps from 5 to 16 and a neighbour on each side, since the line continues to the edge
    page.wait_for_function(f"frame => ({points})(frame) === 14", arg=frame.element_handle())
    width = frame.evaluate("frame => frame.querySelector('svg').clientWidth - 60")  # it may be redrawn meanwhile
    plot.click(position={"x": 44 + 5 * width / 11, "y": 60})
    expect(page.locator("#rollouts-scrubber .scrubber-step")).to_have_value("10")
    page.locator("#x-axis").select_option("tokens")  # another axis resets the window
    page.wait_for_function(f"frame => ({points})(frame) === 20", arg=frame.element_handle())
    chart = drawn(page, '#charts-rollouts [data-chart="reward/mean"]')
    chart.focus()
    page.keyboard.press("+")
    page.wait_for_function(f"frame => ({points})(frame) < 20", arg=frame.element_handle())
    page.get_by_role("button", name="Reset zoom").click()
    page.wait_for_function(f"frame => ({points})(frame) === 20", arg=frame.element_handle())


def test_a_drag_over_a_small_chart_zooms_all_charts_and_a_double_click_resets_them(page: Page) -> None:
    page.goto(f"/runs/{recorded_run().run.pk}/#rollouts")
    large = drawn(page, '#charts-rollouts [data-chart="reward/mean"]')
    frame = page.locator("#rollouts-curves .lines-plot").first
    box = frame.bounding_box()
    assert box is not None
    step = (box["width"] - 60) / 19  # pixels: of 20 steps the first is 44 from the left, the last 16 from the right
    left, middle = box["x"] + 44, box["y"] + 70
    page.mouse.move(left, box["y"] + 1)
    page.mouse.down()
    page.mouse.move(left, box["y"] - 3)
    page.mouse.up()  # released outside the chart
    page.mouse.move(left + 14 * step, middle)
    assert frame.locator(".lines-window").count() == 0  # at once, before a redraw replaces it
    page.mouse.down()
    page.mouse.move(left + 4 * step, middle, steps=5)  # from right to left as well
    expect(frame.locator(".lines-window")).to_be_visible()
    page.mouse.up()
    expect(frame.locator(".lines-window")).to_have_count(0)
    page.wait_for_function("plot => plot.layout.xaxis.range[1] < 16", arg=large.element_handle())
    first, last = large.evaluate("plot => plot.layout.xaxis.range")
    assert (first, last) == (pytest.approx(5, abs=0.1), pytest.approx(15, abs=0.1))
    expect(page.locator("#rollouts-scrubber .scrubber-step")).to_have_value("20")  # the end of a drag is not a click
    page.locator("#x-axis").select_option("tokens")
    page.mouse.dblclick(left + 2 * step, middle)
    expect(page).not_to_have_url(re.compile("zoom="))
    page.mouse.move(left, middle)
    page.mouse.down()
    page.mouse.move(left + 9.5 * step, middle, steps=5)
    page.mouse.up()
    expect(page).to_have_url(re.compile("zoom="))
    # a step has as many tokens as the next: half of the steps are half of the tokens
    tokens = large.evaluate("plot => [plot.layout.xaxis.range, plot.data[0].x]")
    assert tokens[0][1] == pytest.approx((tokens[1][9] + tokens[1][10]) / 2, rel=0.02)
