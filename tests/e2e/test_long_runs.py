"""Runs of thousands of steps that continue while their page is open: no part of their history is lost or duplicated."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from playwright.sync_api import Page, Route, expect

from tests.builders.long_run import long_run
from tests.builders.recorded_run import RecordedRun
from tests.e2e.charts import NORM, page, visit
from tests.e2e.open_site import needs_chromium
from tests.e2e.threads import in_thread
from webapp.runs.models import MetricName, StepGroups, StepMetrics

__all__ = ["page"]

pytestmark = [pytest.mark.e2e, needs_chromium, pytest.mark.django_db(transaction=True)]

NORM_KEY = "optim%2Fgrad_norm"
POINTS = f"document.querySelector('{NORM} .chart-plot')?.data?.at(-1).x.length"


def halved(steps: int, *, after: int) -> RecordedRun:
    """A run whose responses shrink to half after a step."""
    recorded = long_run(steps)
    rows = list(StepMetrics.objects.filter(run=recorded.run).order_by("step"))
    for row in rows[after:]:
        row.metrics["rollout/response_tokens"] /= 2
    StepMetrics.objects.bulk_update(rows[after:], ["metrics"], batch_size=200)
    for row in rows:
        recorded.assessor.add_step(row.step, row.metrics)
    return recorded


def test_full_history_views_keep_all_curves_whenever_they_were_loaded(page: Page) -> None:
    recorded = in_thread(lambda: halved(6000, after=3000))
    visit(page, recorded)
    # the overview's curves are in buckets of ten steps; those requested after 25 more are not
    page.wait_for_function(f"() => {POINTS} === 600")
    in_thread(lambda: (recorded.take_steps(25), recorded.deliver()))
    expect(page.locator("#step")).to_have_text("6025/12000")
    page.click("#tab-rollouts")
    expect(page.locator("#rollouts-summary")).to_have_text(
        re.compile(r"^First, at step 3001, responses became a third")
    )
    sign = page.locator("#rollouts-signs button").first
    expect(sign).to_have_text("step 3001")
    read = page.locator("#rollouts-signs a").first
    expect(read).to_have_attribute("href", re.compile(r"\?step=3001$"))
    sign.focus()
    in_thread(lambda: (recorded.take_steps(1), recorded.deliver()))
    expect(page.locator("#step")).to_have_text("6026/12000")
    expect(sign).to_be_focused()
    # the extremes of a bucket are drawn about its mean
    expect(page.locator("#rollouts-curves .lines-band").first).to_be_attached()
    page.click("#tab-collapse")
    expect(page.locator("#collapse-scrubber .scrubber-step")).to_have_value("6025")


def test_small_charts_of_a_long_run_load_more_detail_when_zoomed(page: Page) -> None:
    recorded = in_thread(lambda: halved(2400, after=1200))
    visit(page, recorded, "?zoom=1100..1300#rollouts")
    plot = page.locator("#rollouts-curves .lines-plot").first
    points = "plot => plot.querySelector('polyline')?.getAttribute('points').split(' ').length"
    # every step from 1100 to 1300 or a little more, where the whole run has buckets of four
    page.wait_for_function(f"plot => ({points})(plot) > 200", arg=plot.element_handle())
    # the band of the buckets before and after does not cover the steps between them
    span = "one => Math.max(...[...one.points].map(p => p.x)) - Math.min(...[...one.points].map(p => p.x))"
    bands = plot.evaluate(f"plot => [...plot.querySelectorAll('.lines-band')].map({span})")
    assert all(width < 20 for width in bands)


def diagnosed(steps: int, *, odd: int) -> RecordedRun:
    """Diagnosed at 1, 6, 11, …; those of the step `odd` differ, and its templates are there."""
    recorded = long_run(steps)
    rows = list(StepMetrics.objects.filter(run=recorded.run))
    for row in rows:
        for name in [name for name in row.metrics if name.startswith("collapse/")]:
            del row.metrics[name]
        if row.step % 5 == 1:
            mutual = 0.05 if row.step == odd else 0.5
            row.metrics |= {"collapse/mi_ratio": mutual, "collapse/conditional_entropy": 14.0}
            row.metrics |= {"collapse/first_turns": 12.0, "collapse/template_share": 0.25}
    StepMetrics.objects.bulk_update(rows, ["metrics"], batch_size=200)
    names = ("collapse/first_turns", "collapse/template_share")
    MetricName.objects.bulk_create(MetricName(run=recorded.run, name=name) for name in names)
    folder = recorded.run.directory / "templates"
    folder.mkdir()
    (folder / f"step_{odd}.json").write_text(json.dumps({"step": odd, "thoughts": 12, "templates": []}))
    return recorded


def test_diagnostics_of_a_long_run_are_shown_at_the_steps_of_their_measurement(page: Page) -> None:
    recorded = in_thread(lambda: diagnosed(6000, odd=3001))
    visit(page, recorded, "#collapse")
    field = page.locator("#collapse-scrubber .scrubber-step")
    expect(field).to_have_value("5996")
    field.fill("3000")
    field.press("Enter")
    expect(field).to_have_value("3001")
    expect(page.locator("#collapse-scrubber .scrubber-note")).to_have_text(
        "Step 3000 has no data: this is the nearest step with data."
    )
    # one step in six thousand, which the mean of its bucket would have hidden
    expect(page.locator("#collapse-map .regime-now")).to_have_text("step 3001")
    expect(page.locator("#collapse-facts")).to_contain_text("MI / ln N0.05")
    text = page.locator("#collapse-templates > p").first
    expect(text).to_have_text("Step 3001: of 12 thoughts none nearly repeats one on a different prompt.")


def test_every_step_of_a_long_run_can_be_selected_and_all_views_keep_it(page: Page) -> None:
    def record() -> RecordedRun:
        recorded = long_run(6000)
        detail = {
            "tags": ["Lake"], "groups": [0], "environments": [0], "seeds": [77], "returns": [[0.0, 1.0]],
            "stds": [0.5], "filter": {},
        }  # fmt: skip
        kept: dict[str, Any] = {"scores": [0.25], "kept": [0], "threshold": 0.25, "detail": detail}
        for step in (4310, 4321):
            StepGroups.objects.create(run=recorded.run, seq=20_000 + step, step=step, **kept)
        return recorded

    recorded = in_thread(record)
    visit(page, recorded, "#filter")
    field = page.locator("#filter-scrubber .scrubber-step")
    expect(field).to_have_value("6000")
    field.fill("4321")
    field.press("Enter")
    expect(page.locator("#filter-summary")).to_contain_text("Step 4321:")
    expect(page.locator("#filter-matrix")).to_contain_text("77")
    expect(page).to_have_url(re.compile(r"step=4321"))
    page.click("#tab-rollouts")
    expect(page.locator("#rollouts-read")).to_have_text("Read the trajectories of step 4321")
    page.click("#tab-overview")
    expect(page.locator(f"{NORM} .scrub-line")).to_be_visible()
    page.reload()
    expect(page.locator(f"{NORM} .scrub-line")).to_be_visible()
    page.click("#tab-collapse")
    expect(page.locator("#collapse-scrubber .scrubber-step")).to_have_value("4320")
    page.click("#tab-overview")
    page.get_by_role("button", name="step 4321").click()
    expect(page.locator(f"{NORM} .scrub-line")).to_be_hidden()
    expect(page).not_to_have_url(re.compile(r"step="))


def test_an_open_page_downsamples_its_curves_as_they_grow(page: Page) -> None:
    recorded = in_thread(lambda: long_run(1900))
    visit(page, recorded)
    page.wait_for_function(f"() => {POINTS} === 1900")
    in_thread(lambda: (recorded.take_steps(2200, evaluate_every=1000), recorded.deliver()))
    expect(page.locator("#step")).to_have_text("4100/3800")
    page.wait_for_function(f"() => {POINTS} < 700")
    in_thread(lambda: (recorded.take_steps(3), recorded.deliver()))
    expect(page.locator("#step")).to_have_text("4103/3800")
    last = f"document.querySelector('{NORM} .chart-plot').data.at(-1).customdata.at(-1)"
    page.wait_for_function(f"() => {last} === 4103")


def test_curves_requested_before_a_new_attempt_are_requested_again(page: Page) -> None:
    recorded = in_thread(lambda: long_run(100))
    held: list[tuple[Route, dict[str, Any]]] = []

    def hold(route: Route) -> None:
        if held or NORM_KEY not in route.request.url:
            route.continue_()
        else:
            held.append((route, route.fetch().json()))

    page.route("**/bands?*", hold)
    visit(page, recorded)
    page.wait_for_timeout(500)
    recorded.step = 50
    begin: dict[str, Any] = {"total_steps": 200, "pid": 2, "device": "cpu", "model": "tiny", "parameters": 1}

    def continue_run() -> None:
        recorded.emit("run_started", attempt=2, resumed_from=50, **begin)
        for step in range(51, 61):
            recorded.step = step
            metrics = {"optim/grad_norm": 7.0}
            recorded.emit("step_completed", attempt=2, metrics=metrics, tokens=9000 * step, seconds=2.1 * step)
        recorded.deliver()

    in_thread(continue_run)
    expect(page.locator("#step")).to_have_text("60/200")
    [(route, body)] = held
    route.fulfill(status=200, content_type="application/json", body=json.dumps(body))
    drawn = f"document.querySelector('{NORM} .chart-plot')?.data?.at(-1)"
    page.wait_for_function(f"() => {drawn}?.customdata.at(-1) === 60 && {drawn}.text.at(-1).endsWith(': 7')")


def test_a_failing_view_does_not_block_the_charts_above_it(page: Page) -> None:
    recorded = in_thread(lambda: long_run(30))
    visit(page, recorded)
    page.wait_for_function(f"() => {POINTS} === 30")
    page.evaluate("""() => {
        addEventListener('unhandledrejection', event => event.preventDefault());
        Plotly.react = () => { throw new Error('of the test'); };
    }""")
    in_thread(lambda: (recorded.take_steps(2), recorded.deliver()))
    expect(page.locator("#step")).to_have_text("32/60")
