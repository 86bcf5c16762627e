"""A run's page in a browser: charts draw and follow the run, a zoom is kept, and a lost socket loses nothing."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, WebSocketRoute, expect
from pytest_django import Settings

from tests.builders.recorded_run import RecordedRun
from tests.e2e.open_site import needs_chromium, open_site
from tests.e2e.threads import in_thread
from webapp.runs.services import queue_again
from webapp.runs.states import RunState
from workers.endings import Ending
from workers.restarts import after_fault

pytestmark = [pytest.mark.e2e, needs_chromium, pytest.mark.django_db(transaction=True)]

PATIENCE = 30_000  # ms; the test machine may be busy
WATCH = """
window.violations = [];
document.addEventListener('securitypolicyviolation', e =>
  window.violations.push(`${e.violatedDirective} ${e.blockedURI}`));
"""
SUCCESS, PLOT = '[data-chart="rollout/success"]', ".chart-plot"


@pytest.fixture
def recorded(transactional_db: None, settings: Settings, tmp_path: Path) -> RecordedRun:
    """Twenty steps of sixty, an alert at the twentieth, and two lines of log."""
    settings.RUNS_DIR = tmp_path / "runs"
    recorded = RecordedRun(steps=60)
    recorded.take_steps(20)
    recorded.raise_alert("Entropy fell to a third of its baseline.")
    recorded.deliver()
    (recorded.run.directory / "engine.log").write_text("step 19 done\nstep 20 done\n")
    return recorded


@pytest.fixture
def train(recorded: RecordedRun) -> Iterator[Callable[[int], None]]:
    """Records more steps, in another thread: this one drives the browser."""
    with ThreadPoolExecutor(1) as writer:

        def more(count: int) -> None:
            writer.submit(lambda: (recorded.take_steps(count), recorded.deliver())).result()

        yield more


@pytest.fixture
def fall(recorded: RecordedRun) -> Iterator[Callable[[], None]]:
    """The engine fails, and the run waits for its restart."""
    with ThreadPoolExecutor(1) as writer:
        ending = Ending(state=RunState.CRASHED, reason="It was killed.", retryable=True)

        def fail() -> None:
            run = recorded.run
            again, fields = after_fault(run, ending, progressed=True, pauses=[5.0])
            assert queue_again(run, reason=again.reason, epoch=run.epoch, also=fields)

        yield lambda: writer.submit(fail).result()


@pytest.fixture
def page(recorded: RecordedRun, settings: Settings) -> Iterator[Page]:
    with open_site(settings) as opened:
        opened.set_default_timeout(PATIENCE)
        expect.set_options(timeout=PATIENCE)
        opened.add_init_script(WATCH)
        yield opened
        assert opened.evaluate("window.violations") == []


def visit(page: Page, recorded: RecordedRun, at: str = "") -> Locator:
    """The chart of success, drawn."""
    page.goto(f"/runs/{recorded.run.pk}/{at}")
    expect(page.locator("#live")).to_have_attribute("data-state", "live")
    chart = page.locator(SUCCESS)
    expect(chart.locator(".scatterlayer .trace").first).to_be_attached()
    return chart


def steps_drawn(chart: Locator) -> list[int]:
    """The steps of the smoothed line, which has a point for each step."""
    line = "plot => plot.data.filter(one => one.mode === 'lines').at(-1).customdata"
    steps: list[int] = chart.locator(PLOT).evaluate(line)
    return steps


def range_of(chart: Locator) -> list[float]:
    shown: list[float] = chart.locator(PLOT).evaluate("plot => plot.layout.xaxis.range")
    return shown


def test_the_six_charts_draw_every_step_of_the_history(page: Page, recorded: RecordedRun) -> None:
    chart = visit(page, recorded)
    expect(page.locator("#charts-overview .chart")).to_have_count(6)
    expect(page.locator("#charts-overview .chart-empty:visible")).to_have_count(0)
    assert steps_drawn(chart) == list(range(1, 21))
    # held-out points at steps 10 and 20, and the alert of step 20 as a mark on the axis
    assert chart.locator(PLOT).evaluate("plot => plot.data.at(-1).customdata") == [10, 20]
    assert chart.locator(PLOT).evaluate("plot => plot.layout.shapes.map(shape => shape.x0)") == [20]


@pytest.mark.parametrize(("width", "height", "share"), [(1440, 900, 1 / 4), (390, 844, 1 / 3)])
def test_charts_begin_high_on_the_screen_and_name_verdict_and_tabs_stay_on_it(
    page: Page, recorded: RecordedRun, width: int, height: int, share: float
) -> None:
    page.set_viewport_size({"width": width, "height": height})
    chart = visit(page, recorded)
    top = "element => element.getBoundingClientRect().top"
    assert chart.evaluate(top) <= share * height
    page.evaluate("scrollTo(0, document.body.scrollHeight)")
    page.wait_for_function("() => scrollY > 100")
    for part in ("#run-name", "#state-chip", "#verdict-chip", "#tab-overview"):
        expect(page.locator(part)).to_be_in_viewport(ratio=1)
    bottom = "element => element.getBoundingClientRect().bottom"
    assert page.locator("#run-bar").evaluate(bottom) <= 0.15 * height
    chart.locator(PLOT).focus()  # comes into view below what stays
    assert chart.locator(PLOT).evaluate(top) >= page.locator("#run-bar").evaluate(bottom)


def test_no_chart_offers_to_upload_its_data(page: Page, recorded: RecordedRun) -> None:
    chart = visit(page, recorded)
    titles = chart.locator(".modebar-btn").evaluate_all("all => all.map(one => one.dataset.title ?? one.ariaLabel)")
    assert any("Zoom" in title for title in titles)
    assert not any("hare" in title or "loud" in title for title in titles)


def test_new_steps_appear_automatically_and_their_lag_is_shown(
    page: Page, recorded: RecordedRun, train: Callable[[int], None]
) -> None:
    chart = visit(page, recorded)
    train(3)
    expect(page.locator("#step")).to_have_text("23/60")
    expect(page.locator("#lag")).to_have_text(re.compile(r"^lag \d+ ms, p95 \d+ ms$"))
    assert steps_drawn(chart) == list(range(1, 24))


def test_a_zoom_is_kept_while_the_run_continues(
    page: Page, recorded: RecordedRun, train: Callable[[int], None]
) -> None:
    chart = visit(page, recorded)
    box = chart.locator(".nsewdrag").bounding_box()
    assert box is not None
    middle = box["y"] + box["height"] / 2
    page.mouse.move(box["x"] + box["width"] * 0.25, middle)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * 0.5, middle, steps=5)
    page.mouse.up()
    page.wait_for_function(
        "plot => plot.layout.xaxis.range[1] < 15", arg=chart.locator(PLOT).element_handle(), timeout=PATIENCE
    )
    zoomed = range_of(chart)
    train(4)
    expect(page.locator("#step")).to_have_text("24/60")
    assert range_of(chart) == zoomed
    page.get_by_role("button", name="Reset zoom").click()
    expect(chart.locator(".xtick text").last).to_have_text("20")


def test_a_lost_socket_reconnects_without_gaps_or_duplicates(
    page: Page, recorded: RecordedRun, train: Callable[[int], None]
) -> None:
    lines: list[WebSocketRoute] = []

    def pass_on(line: WebSocketRoute) -> None:
        line.connect_to_server()
        lines.append(line)

    page.route_web_socket(re.compile("/ws/runs/"), pass_on)
    chart = visit(page, recorded)
    lines[-1].close(code=1012, reason="the server restarts")
    train(5)
    expect(page.locator("#step")).to_have_text("25/60")
    expect(page.locator("#live")).to_have_attribute("data-state", "live")
    train(5)
    expect(page.locator("#step")).to_have_text("30/60")
    assert len(lines) >= 2
    assert steps_drawn(chart) == list(range(1, 31))


def test_the_axis_can_be_tokens_and_is_kept_in_the_url(page: Page, recorded: RecordedRun) -> None:
    chart = visit(page, recorded)
    page.locator("#x-axis").select_option("tokens")
    # step 20 has sampled 20 * 9000 tokens
    page.wait_for_function(
        "plot => plot.data[0].x.at(-1) === 180000", arg=chart.locator(PLOT).element_handle(), timeout=PATIENCE
    )
    expect(page).to_have_url(re.compile("x=tokens"))
    page.reload()
    expect(page.locator("#x-axis")).to_have_value("tokens")


def test_an_invalid_url_fragment_shows_the_default_page(page: Page, recorded: RecordedRun) -> None:
    chart = visit(page, recorded, "?x=nonsense&smoothing=much#nowhere")
    assert steps_drawn(chart) == list(range(1, 21))
    expect(page.locator("#x-axis")).to_have_value("step")
    expect(page.locator("#smoothing-value")).to_have_text("0.60")


def test_tabs_show_other_metrics_the_log_and_the_alerts(page: Page, recorded: RecordedRun) -> None:
    visit(page, recorded)
    page.get_by_role("tab", name="Collapse").click()
    expect(page.locator(".pictures > *")).to_have_count(4)
    first = page.locator(".pictures > *").first.bounding_box()
    assert first is not None and first["y"] < 225  # pixels of 900
    chart = page.locator('#charts-collapse [data-chart="collapse/conditional_entropy"]')
    expect(chart).to_be_hidden()
    page.get_by_text("All charts of this view").click()
    expect(chart).to_be_visible()
    page.reload()  # this browser remembers what is open
    expect(chart).to_be_visible()
    page.get_by_role("tab", name="Log").click()
    expect(page.locator("#log-box .log-text")).to_have_text(["step 19 done", "step 20 done"])
    page.get_by_role("tab", name="Alerts (1)").click()
    expect(page.locator("#alert-list")).to_contain_text("Entropy fell to a third of its baseline.")


def test_back_returns_to_the_previous_tab_with_the_current_zoom(page: Page, recorded: RecordedRun) -> None:
    page.goto(f"/runs/{recorded.run.pk}/")
    expect(page.locator("#live")).to_have_attribute("data-state", "live")
    page.wait_for_function("() => { scrollTo(0, 200); return scrollY === 200; }")
    page.evaluate("document.getElementById('tab-checkpoints').click()")  # the same scroll position, out of sight
    page.click("#tab-collapse")
    page.locator("#collapse-scrubber .scrubber-step").fill("7")
    page.locator("#collapse-scrubber .scrubber-step").press("Enter")
    expect(page).to_have_url(re.compile("step=7.*#collapse$"))
    page.go_back()
    expect(page.locator("#view-checkpoints")).to_be_visible()
    expect(page).to_have_url(re.compile("step=7.*#checkpoints$"))
    page.go_back()
    expect(page.locator("#tab-overview")).to_have_attribute("aria-selected", "true")
    expect(page).to_have_url(re.compile("step=7.*#overview$"))
    page.wait_for_function("() => scrollY === 200")
    page.go_forward()
    expect(page.locator("#view-checkpoints")).to_be_visible()
    page.locator("#tab-checkpoints").press("ArrowLeft")
    expect(page.locator("#view-checkpoints")).to_be_hidden()
    page.go_back()
    expect(page.locator("#view-checkpoints")).to_be_visible()


def test_a_failure_is_shown_with_its_restart_and_links_to_the_log(
    page: Page, recorded: RecordedRun, fall: Callable[[], None]
) -> None:
    visit(page, recorded)
    expect(page.locator("#restarts")).to_be_hidden()
    fall()
    expect(page.locator("#state-chip")).to_have_text("Restarting")
    expect(page.locator("#verdict")).to_contain_text("It was killed.")
    expect(page.locator("#notice")).to_have_text("Restarts 5 s after the failure: restart 1 of 3")
    page.get_by_role("link", name="1 of 3 restarts").click()
    fault = page.locator("#alert-list li").first
    expect(fault).to_contain_text("after step 20 of attempt 1 · queued again: restart 1 of 3")
    expect(page.locator("#alert-count")).to_have_text("(2)")
    fault.get_by_role("link", name="Engine's log").click()
    expect(page.locator("#log-box")).to_contain_text("step 20 done")


def test_a_metric_shows_its_description_on_focus(page: Page, recorded: RecordedRun) -> None:
    chart = visit(page, recorded)
    chart.locator(".hint").first.focus()
    expect(chart.get_by_role("tooltip")).to_contain_text("rollout/success")


def test_a_stop_is_requested_on_the_page(page: Page, recorded: RecordedRun) -> None:
    visit(page, recorded)
    page.get_by_role("button", name="Stop", exact=True).click()
    expect(page.locator("#state-chip")).to_have_text("Stopping")
    expect(page.get_by_role("button", name="Stop faster")).to_be_visible()


def test_charts_follow_the_theme_of_the_system_or_of_another_page(page: Page, recorded: RecordedRun) -> None:
    page.emulate_media(color_scheme="light")
    chart = visit(page, recorded)
    words = chart.locator(".xtick text").first
    colour = "element => getComputedStyle(element).fill"
    light = words.evaluate(colour)
    page.emulate_media(color_scheme="dark")
    expect(words).not_to_have_css("fill", light)
    dark = words.evaluate(colour)
    other = page.context.new_page()
    other.goto("/styleguide/")
    other.evaluate("localStorage.setItem('starboard.theme', 'light')")
    other.close()
    expect(words).not_to_have_css("fill", dark)
    assert words.evaluate(colour) == light


def test_double_clicking_the_log_tab_shows_its_lines_once(page: Page, recorded: RecordedRun) -> None:
    visit(page, recorded)
    page.locator("#tab-log").dblclick()
    expect(page.locator("#log-box")).not_to_be_empty()
    page.wait_for_timeout(500)
    expect(page.locator("#log-box .log-text")).to_have_text(["step 19 done", "step 20 done"])


def test_a_checkpoint_selected_for_a_fork_is_still_there(page: Page, recorded: RecordedRun) -> None:
    """Ten saved; on disk are the newest three, 12 from before the first sign, and 4, the best."""
    steps = list(range(0, 20, 2))
    for step in steps:
        recorded.step = step
        kept = [4, 12, 14, 16, 18] if step == 18 else steps[: steps.index(step) + 1]
        recorded.emit(
            "checkpoint_saved", path=f"checkpoints/step_{step}", bytes=10, reason="schedule", kept=kept, best=4
        )
        if step == 4:
            recorded.evaluate()  # as step 10 was
    in_thread(recorded.deliver)
    page.goto(f"/runs/{recorded.run.pk}/#checkpoints")
    rows = page.locator("#checkpoint-list tr")
    expect(rows).to_have_count(10)
    for name in ("Fork", "Download"):
        expect(rows.get_by_role("link", name=name)).to_have_count(5)
    expect(rows.nth(3)).to_contain_text("kept for a rescue")  # 12
    expect(rows.nth(4)).to_contain_text("removed")  # 10
    expect(rows.nth(7)).to_contain_text("best held-out success")  # 4


def test_updates_keep_the_focus_on_a_checkpoint(
    page: Page, recorded: RecordedRun, train: Callable[[int], None]
) -> None:
    recorded.emit("checkpoint_saved", path="checkpoints/step_20", bytes=10, reason="schedule")
    train(0)
    visit(page, recorded)
    page.click("#tab-checkpoints")
    fork = page.locator("#checkpoint-list").get_by_role("link", name="Fork")
    result = in_thread(lambda: recorded.run.evaluations.get(step=20))
    interval = f"{result.success:.2f} [{result.low:.2f}, {result.high:.2f}]"
    expect(page.locator("#checkpoint-list .checkpoint-success")).to_contain_text(interval)
    fork.focus()
    for step in (21, 22):
        train(1)
        expect(page.locator("#step")).to_have_text(f"{step}/60")
        expect(fork).to_be_focused()


def test_the_newest_trajectories_are_requested_while_updates_keep_coming(page: Page, recorded: RecordedRun) -> None:
    requested: list[str] = []
    page.on("request", lambda request: requested.append(request.url))
    visit(page, recorded)
    path = "trajectories/train/step_{}.jsonl.zst"

    def record() -> None:
        recorded.take_steps(1)
        recorded.emit("trajectories_recorded", split="train", path=path.format(recorded.step), count=1)
        recorded.deliver()

    with ThreadPoolExecutor(1) as writer:
        for _ in range(6):  # each within the 1.5 s of quiet that a request waits for
            writer.submit(record).result()
            page.wait_for_timeout(700)
    assert [url for url in requested if "/latest/" in url]


def test_nothing_overflows_on_a_phone_and_the_menu_opens(recorded: RecordedRun, settings: Settings) -> None:
    with open_site(settings, width=390) as phone:
        phone.set_default_timeout(PATIENCE)
        visit(phone, recorded)
        assert phone.evaluate("document.documentElement.scrollWidth") <= 390
        lefts: list[Any] = phone.locator("#charts-overview .chart").evaluate_all(
            "charts => charts.map(one => one.getBoundingClientRect().left)"
        )
        assert len(set(lefts)) == 1
        expect(phone.get_by_role("link", name="Leaderboard")).to_be_hidden()
        phone.get_by_role("button", name="Menu").click()
        expect(phone.get_by_role("link", name="Leaderboard")).to_be_visible()
