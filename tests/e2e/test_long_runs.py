"""Runs of thousands of steps that go on while their page is open: nothing of their history is lost or piled up."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, Route, expect
from pytest_django import Settings

from tests.builders.long_run import long_run
from tests.builders.recorded_run import RecordedRun
from tests.e2e.beside import beside
from tests.e2e.open_site import needs_chromium, open_site
from webapp.runs.models import StepMetrics

pytestmark = [pytest.mark.e2e, needs_chromium, pytest.mark.django_db(transaction=True)]

PATIENCE = 60_000  # ms; the machine that tests may be busy
NORM = '[data-chart="optim/grad_norm"]'
NORM_KEY = "optim%2Fgrad_norm"
POINTS = f"document.querySelector('{NORM} .chart-plot')?.data?.at(-1).x.length"


@pytest.fixture
def page(transactional_db: None, settings: Settings, tmp_path: Path) -> Iterator[Page]:
    settings.RUNS_DIR = tmp_path / "runs"
    with open_site(settings) as opened:
        opened.set_default_timeout(PATIENCE)
        expect.set_options(timeout=PATIENCE)
        yield opened


def halved(steps: int, *, after: int) -> RecordedRun:
    """A run whose replies shrink to half after a step."""
    recorded = long_run(steps)
    rows = list(StepMetrics.objects.filter(run=recorded.run, step__gt=after))
    for row in rows:
        row.metrics["rollout/reply_tokens"] /= 2
    StepMetrics.objects.bulk_update(rows, ["metrics"], batch_size=200)
    return recorded


def visit(page: Page, recorded: RecordedRun, at: str = "") -> None:
    page.goto(f"/runs/{recorded.run.pk}/{at}")
    expect(page.locator("#live")).to_have_attribute("data-state", "live")


def test_views_of_the_whole_history_keep_it_when_their_curves_came_at_different_times(page: Page) -> None:
    recorded = beside(lambda: halved(6000, after=3000))
    visit(page, recorded)
    # the overview's curves are in buckets of ten steps, those asked for after 25 more are not
    page.wait_for_function(f"() => {POINTS} === 600")
    beside(lambda: (recorded.take_steps(25), recorded.deliver()))
    expect(page.locator("#step")).to_have_text("6025/12000")
    page.click("#tab-rollouts")
    expect(page.locator("#rollouts-said")).to_have_text(re.compile(r"^First, at step 30\d\d, replies shrank"))
    sign = page.locator("#rollouts-signs button").first
    sign.focus()
    beside(lambda: (recorded.take_steps(1), recorded.deliver()))
    expect(page.locator("#step")).to_have_text("6026/12000")
    expect(sign).to_be_focused()
    page.click("#tab-collapse")
    expect(page.locator("#collapse-map .regime-map .regime-dot")).to_have_count(600)


def test_a_page_that_is_left_open_thins_its_curves_as_they_grow(page: Page) -> None:
    recorded = beside(lambda: long_run(1900))
    visit(page, recorded)
    page.wait_for_function(f"() => {POINTS} === 1900")
    beside(lambda: (recorded.take_steps(2200, evaluate_every=1000), recorded.deliver()))
    expect(page.locator("#step")).to_have_text("4100/3800")
    page.wait_for_function(f"() => {POINTS} < 700")
    beside(lambda: (recorded.take_steps(3), recorded.deliver()))
    expect(page.locator("#step")).to_have_text("4103/3800")
    last = f"document.querySelector('{NORM} .chart-plot').data.at(-1).customdata.at(-1)"
    page.wait_for_function(f"() => {last} === 4103")


def test_curves_that_were_asked_for_before_an_attempt_began_are_asked_for_again(page: Page) -> None:
    recorded = beside(lambda: long_run(100))
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

    def go_on() -> None:
        recorded.emit("run_started", attempt=2, resumed_from=50, **begin)
        for step in range(51, 61):
            recorded.step = step
            metrics = {"optim/grad_norm": 7.0}
            recorded.emit("step_completed", attempt=2, metrics=metrics, tokens=9000 * step, seconds=2.1 * step)
        recorded.deliver()

    beside(go_on)
    expect(page.locator("#step")).to_have_text("60/200")
    [(route, told)] = held
    route.fulfill(status=200, content_type="application/json", body=json.dumps(told))
    drawn = f"document.querySelector('{NORM} .chart-plot')?.data?.at(-1)"
    page.wait_for_function(f"() => {drawn}?.customdata.at(-1) === 60 && {drawn}.text.at(-1).endsWith(': 7')")


def test_a_view_that_fails_keeps_nothing_from_the_line_above_it(page: Page) -> None:
    recorded = beside(lambda: long_run(30))
    visit(page, recorded)
    page.wait_for_function(f"() => {POINTS} === 30")
    page.evaluate("""() => {
        addEventListener('unhandledrejection', event => event.preventDefault());
        Plotly.react = () => { throw new Error('of the test'); };
    }""")
    beside(lambda: (recorded.take_steps(2), recorded.deliver()))
    expect(page.locator("#step")).to_have_text("32/60")
