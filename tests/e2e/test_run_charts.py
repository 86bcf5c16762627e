"""The charts of a run's page in a browser: downsampled without losing a spike, one zoom and crosshair for all, saved
layouts, every metric by pattern, exported pictures and values; updates do not move the view."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, WebSocketRoute, expect
from pytest_django import Settings

from tests.builders.long_run import long_run
from tests.builders.recorded_run import RecordedRun
from tests.e2e.charts import NORM, PATIENCE, PLOT, SUCCESS, drag, drawn, recorded_run, visit
from tests.e2e.open_site import needs_chromium, open_site
from tests.e2e.threads import in_thread

pytestmark = [pytest.mark.e2e, needs_chromium, pytest.mark.django_db(transaction=True)]

HIGHEST = "plot => Math.max(...plot.data.flatMap(trace => trace.y))"
WATCH = """
window.violations = [];
document.addEventListener('securitypolicyviolation', e => window.violations.push(e.violatedDirective));
"""


@pytest.fixture
def runs(transactional_db: None, settings: Settings, tmp_path: Path) -> None:
    settings.RUNS_DIR = tmp_path / "runs"


@pytest.fixture
def page(runs: None, settings: Settings) -> Iterator[Page]:
    with open_site(settings, patience=PATIENCE) as opened:
        opened.add_init_script(WATCH)
        yield opened
        assert opened.evaluate("window.violations") == []


def test_a_long_run_is_downsampled_with_its_spike_and_zooming_shows_every_step(page: Page) -> None:
    recorded = in_thread(lambda: long_run(2400, spike_at=800))
    visit(page, recorded)
    plot = drawn(page, NORM)
    assert plot.evaluate("plot => plot.data.at(-1).x.length") == 600
    assert plot.evaluate(HIGHEST) == 900
    drag(page, NORM, 0.30, 0.36)  # about steps 720 to 864
    line = "plot => plot.data.at(-1).customdata"
    page.wait_for_function(
        f"plot => ({line})(plot).includes(800) && ({line})(plot).includes(801)", arg=plot.element_handle()
    )
    assert 900 in plot.evaluate("plot => plot.data[0].y")
    expect(page).to_have_url(re.compile(r"zoom=\d"))
    page.reload()
    page.wait_for_function(
        f"chart => document.querySelector(chart)?.data && ({line})(document.querySelector(chart)).includes(801)",
        arg=f"{NORM} {PLOT}",
    )


def test_all_charts_share_one_zoom_and_one_crosshair(page: Page) -> None:
    visit(page, recorded_run())
    norm, success = drawn(page, NORM), drawn(page, SUCCESS)
    drag(page, SUCCESS, 0.25, 0.5)
    page.wait_for_function("plot => plot.layout.xaxis.range?.[1] < 15", arg=norm.element_handle())
    ranges = [plot.evaluate("plot => plot.layout.xaxis.range.map(end => end.toFixed(6))") for plot in (norm, success)]
    assert ranges[0] == ranges[1]
    page.locator(f"{SUCCESS} .nsewdrag").hover()
    expect(page.locator(f"{NORM} .chart-crosshair")).to_be_visible()
    expect(page.locator(f"{NORM} .chart-last")).to_have_text(re.compile(r"^step \d+: "))
    step = page.locator(f"{NORM} .chart-last").inner_text().split(":")[0]
    expect(page.locator(f"{SUCCESS} .chart-last")).to_have_text(re.compile(f"^{step}: Training success 0"))
    values = page.locator(
        f"{SUCCESS} li:not([hidden]) .chart-value"
    )  # of training, and of the last evaluation that is not later
    expect(values).to_have_text(
        [re.compile(r"^0\.\d{3}$"), re.compile(r"^(0\.\d{3} \[0\.\d{3}, 0\.\d{3}\]( at 10)?)?$")]
    )
    page.locator(f"{SUCCESS} .nsewdrag").dblclick()
    page.wait_for_function("plot => plot.layout.xaxis.range?.[1] >= 20", arg=norm.element_handle())
    assert "trajectories" not in page.url


def test_updates_move_neither_zoom_nor_scroll_nor_focus(page: Page) -> None:
    recorded = recorded_run()
    visit(page, recorded, "?zoom=5..12#overview")
    plot = drawn(page, SUCCESS)
    page.locator("#verdict-more").click()
    page.locator(f"{SUCCESS} .hint").first.focus()
    page.evaluate("scrollTo(0, 200)")
    page.evaluate("getSelection().selectAllChildren(document.querySelector('#run-name'))")
    before = page.evaluate("[scrollY, getSelection().toString()]")
    in_thread(lambda: (recorded.take_steps(5), recorded.deliver()))
    expect(page.locator("#step")).to_have_text("25/60")
    page.wait_for_function("plot => plot.data.at(-2).customdata.includes(25)", arg=plot.element_handle())
    assert page.evaluate("[scrollY, getSelection().toString()]") == before
    assert plot.evaluate("plot => plot.layout.xaxis.range") == [5, 12]
    assert page.evaluate(f"document.activeElement.closest('{SUCCESS}') !== null")
    expect(page.locator("#verdict-evidence")).to_be_visible()


def test_a_requested_evaluation_becomes_a_ring_on_the_chart_of_held_out_success(page: Page) -> None:
    recorded = recorded_run()
    visit(page, recorded)
    plot = drawn(page, SUCCESS)
    requested = page.locator(f"{SUCCESS} .key--requested")
    expect(requested).to_be_hidden()
    numbers = {"episodes": 64, "successes": 32, "success": 0.5, "low": 0.381, "high": 0.619, "mean_return": 0.5}

    def evaluate() -> None:
        values = {"first_seed": 1, "temperature": 1.0, "seconds": 1.0, "step": 5, **numbers}
        recorded.emit("checkpoint_evaluated", environment=recorded.tag, **values)
        recorded.deliver()

    in_thread(evaluate)
    expect(requested).to_have_text("requested evaluation, 95% interval 0.500 [0.381, 0.619]")
    mark = plot.evaluate("plot => { const t = plot.data.at(-1); return [t.customdata, t.y, t.marker.symbol]; }")
    assert mark == [[5], [0.5], "circle-open"]
    page.locator(f"{SUCCESS} .nsewdrag").hover()  # step 10, or near it
    expect(requested.locator(".chart-value")).to_have_text("0.500 [0.381, 0.619] at 5")


def test_a_chart_is_read_with_the_keyboard_and_opens_a_step(page: Page) -> None:
    recorded = recorded_run()
    visit(page, recorded)
    drawn(page, SUCCESS).focus()
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("ArrowLeft")
    expect(page.locator(f"{SUCCESS} .chart-last")).to_have_text(re.compile("^step 18: "))
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile(r"/trajectories/\?step=18$"))


def test_arrow_keys_change_the_tab_and_a_url_selects_a_preset(page: Page) -> None:
    recorded = recorded_run()
    visit(page, recorded)
    page.get_by_role("tab", name="Overview").focus()
    page.keyboard.press("ArrowRight")
    expect(page.get_by_role("tab", name="Collapse")).to_be_focused()
    expect(page.locator("#view-collapse")).to_be_visible()
    page.goto(f"/runs/{recorded.run.pk}/?panels=throughput#panels")
    expect(page.locator('[data-panels="throughput"]')).to_have_attribute("aria-pressed", "true")
    drawn(page, '[data-chart="perf/sampled_tokens_per_second"]')


def test_a_run_on_several_gpus_has_one_chart_of_their_use_with_a_line_for_each(page: Page) -> None:
    def record() -> RecordedRun:
        recorded = RecordedRun(steps=60)
        for step in range(1, 4):
            used = {f"system/gpu_share/device/{name}": 0.2 * step for name in ("sampler_0", "sampler_1", "learner_0")}
            metrics = {"rollout/success": 0.5, "system/gpu_share/learner": 0.4, **used}
            recorded.emit("step_completed", step=step, metrics=metrics, tokens=9 * step, seconds=2.0 * step)
        recorded.deliver()
        return recorded

    visit(page, in_thread(record), "?panels=system#panels")
    chart = '[data-chart="system/gpu_share/device/learner_0"]'
    drawn(page, chart)
    expect(page.locator(f"{chart} h3")).to_have_text("GPU utilization by device")
    lines = [f"GPU utilization, {name} 0.600" for name in ("learner 0", "sampler 0", "sampler 1")]
    expect(page.locator(f"{chart} .chart-key li")).to_have_text([re.compile(re.escape(line)) for line in lines])
    expect(page.locator("#charts-panels .chart")).to_have_count(2)  # and the learners' mean


def test_a_layout_is_built_saved_and_shared_by_url(page: Page) -> None:
    recorded = recorded_run()
    visit(page, recorded, "?charts=policy%252Fentropy%2Brollout%252Fsuccess#panels")
    drawn(page, '[data-chart="policy/entropy"]')
    expect(page.locator("#charts-panels .chart")).to_have_count(1)
    expect(page.locator("#charts-panels .chart-key li")).to_contain_text(["Policy entropy", "Training success"])
    page.get_by_role("button", name="Edit layout").click()
    adding = page.get_by_label("Add a chart")
    adding.fill("optim/none")
    adding.press("Enter")  # stays, to be corrected
    expect(adding).to_have_value("optim/none")
    adding.fill("optim/grad_norm")
    adding.press("Enter")
    expect(adding).to_have_value("")
    expect(page.locator("#layout-dialog .layout-charts > li")).to_have_count(2)
    page.get_by_role("button", name="Move chart 2 up").click()
    page.get_by_label("Layout name").fill("Watch this")
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.locator("#panel-choices [aria-pressed=true]")).to_have_text("Watch this")
    expect(page).to_have_url(re.compile(r"panels=\d+"))
    page.reload()
    expect(page.locator("#panel-choices [aria-pressed=true]")).to_have_text("Watch this")
    drawn(page, NORM)
    charts = page.locator("#charts-panels .chart").evaluate_all("all => all.map(one => one.dataset.chart)")
    assert charts == ["optim/grad_norm", "policy/entropy"]


def test_of_a_thousand_metrics_only_visible_ones_are_drawn_and_a_pattern_filters_them(page: Page) -> None:
    visit(page, in_thread(lambda: long_run(30, extra=1000)), "#metrics")
    expect(page.locator("#metric-count")).to_have_text(re.compile(r"^10\d\d of 10\d\d metrics$"))
    expect(page.locator("#charts-metrics .scatterlayer .trace").first).to_be_attached()
    assert page.locator("#charts-metrics .chart").count() < 40
    page.locator("#metric-filter").fill("task 99\\d|grad_norm")
    expect(page.locator("#metric-count")).to_have_text(re.compile(r"^11 of "))
    drawn(page, '[data-chart="env/task 990/return"]')
    page.locator("#metric-filter").fill("[")
    expect(page.locator("#metric-count")).to_contain_text("not a regular expression")
    page.locator("#metric-filter").fill("grad_norm$|time/update")
    expect(page.locator("#metric-count")).to_have_text(re.compile(r"^2 of "))
    expect(page.locator("#charts-metrics > details:not([hidden]) > summary .num")).to_have_text(
        [re.compile("^1( of |$)")] * 2
    )
    page.locator("#metric-filter").fill("")
    expect(page.locator("#metric-count")).to_have_text(re.compile(r"^(\d+) of \1 metrics$"))
    page.evaluate("scrollTo(0, document.body.scrollHeight)")
    drawn(page, '[data-chart="time/update"]')
    page.get_by_role("button", name="Close all").click()
    expect(page.locator('[data-metric-name="time/update"]')).to_be_hidden()
    page.reload()  # this browser remembers it
    expect(page.locator("#charts-metrics > details").first).to_be_visible()
    expect(page.locator("#charts-metrics > details[open]")).to_have_count(0)


@pytest.mark.parametrize("ending", ["PNG", "SVG", "CSV"])
def test_a_chart_can_be_exported(page: Page, tmp_path: Path, ending: str) -> None:
    recorded = recorded_run()
    visit(page, recorded)
    drawn(page, NORM)
    page.locator(f"{NORM} .chart-menu summary").click()
    with page.expect_download() as download:
        page.locator(NORM).get_by_role("button", name=ending).click()
    assert download.value.suggested_filename == f"{recorded.run.pk}-optim-grad_norm.{ending.lower()}"
    file = tmp_path / "exported"
    download.value.save_as(file)
    if ending == "PNG":
        assert file.read_bytes().startswith(b"\x89PNG")
    elif ending == "SVG":
        assert "<svg" in file.read_text() and "Gradient norm" in file.read_text()
    else:
        lines = file.read_text().splitlines()
        assert lines[0] == "step,tokens,training_seconds,unix_time,optim/grad_norm"
        assert len(lines) == 21


def test_outliers_are_hidden_on_demand_with_a_note(page: Page) -> None:
    visit(page, in_thread(lambda: long_run(300, spike_at=100)))
    plot = drawn(page, NORM)
    page.locator("#outliers").check()
    expect(page.locator(f"{NORM} .chart-note")).to_have_text(re.compile(r"values are outside the axis, as far as 900$"))
    # a logarithmic axis: 900 would be almost 3
    assert plot.evaluate("plot => plot.layout.yaxis.range[1]") < 1
    expect(page).to_have_url(re.compile("outliers=out"))


def test_a_click_opens_the_evidence_of_the_verdict(page: Page) -> None:
    visit(page, recorded_run())
    expect(page.locator("#verdict-evidence")).to_be_hidden()
    page.get_by_role("button", name="Evidence").click()
    rows = page.locator("#verdict-rows tr")
    expect(rows.first).to_contain_text("Training success")
    expect(rows.first).to_contain_text("half of its best")


def test_the_time_left_and_the_time_axis_are_right_after_a_resume(page: Page) -> None:
    recorded = in_thread(lambda: RecordedRun(steps=100))
    begin = time.time() - 10_000
    metrics: dict[str, Any] = {"rollout/success": 0.5}

    def step(number: int, at: float, attempt: int, training: float) -> None:
        values = {"step": number, "time": at, "attempt": attempt, "seconds": training, "tokens": number}
        recorded.emit("step_completed", metrics=metrics, **values)

    def take_more_steps() -> None:
        recorded.emit(
            "run_started", time=begin + 8000, attempt=2, resumed_from=8, step=8, total_steps=100, pid=2, device="cpu",
            model="tiny", parameters=1,
        )  # fmt: skip
        step(9, begin + 8010, 2, 90.0)
        recorded.deliver()

    recorded.emit("run_started", time=begin, total_steps=100, pid=1, device="cpu", model="tiny", parameters=1)
    for number in range(1, 11):  # ten seconds each, and then two hours of nothing
        step(number, begin + 10 * number, 1, 10.0 * number)
    in_thread(recorded.deliver)
    visit(page, recorded, "?x=elapsed")
    plot = drawn(page, SUCCESS)
    expect(page.locator("#eta")).to_have_text("· ETA 15 min 0 s")  # 90 steps of ten seconds
    in_thread(take_more_steps)
    expect(page.locator("#step")).to_have_text("9/100")
    expect(page.locator("#eta")).to_have_text("· ETA 15 min 10 s")  # 91 steps
    page.wait_for_function(
        "plot => plot.data.at(-2).customdata.join() === '1,2,3,4,5,6,7,8,9'", arg=plot.element_handle()
    )
    # steps 9 and 10 of the first attempt no longer count; the second begins at its checkpoint, at 80 s
    assert [round(x) for x in plot.evaluate("plot => plot.data.at(-2).x")] == [10, 20, 30, 40, 50, 60, 70, 80, 90]


@pytest.fixture
def own_page(runs: None, settings: Settings) -> Iterator[Page]:
    """Whose clock may be changed."""
    with open_site(settings, patience=PATIENCE, own=True) as opened:
        yield opened


def test_a_socket_lost_during_sleep_reconnects_without_a_gap(own_page: Page) -> None:
    recorded, page = recorded_run(), own_page
    lines: list[WebSocketRoute] = []
    asleep: list[bool] = []

    def pass_on(line: WebSocketRoute) -> None:
        server = line.connect_to_server()
        mine = len(lines)
        server.on_message(lambda message: None if asleep and mine == 0 else line.send(message))
        lines.append(line)

    page.clock.install()
    page.route_web_socket(re.compile("/ws/runs/"), pass_on)
    visit(page, recorded)
    asleep.append(True)
    in_thread(lambda: (recorded.take_steps(5), recorded.deliver()))
    page.clock.fast_forward(120_000)
    expect(page.locator("#step")).to_have_text("25/60")
    assert len(lines) >= 2
    expect(page.locator("#live")).to_have_attribute("data-state", "live")


def test_a_hidden_tab_draws_nothing_and_catches_up_when_shown(page: Page) -> None:
    recorded = recorded_run()
    visit(page, recorded)
    plot = drawn(page, SUCCESS)
    hide = "hidden => Object.defineProperty(document, 'hidden', { value: hidden, configurable: true })"
    page.evaluate(hide, True)
    in_thread(lambda: (recorded.take_steps(3), recorded.deliver()))
    page.wait_for_timeout(1500)
    assert plot.evaluate("plot => plot.data.at(-2).customdata.at(-1)") == 20
    page.evaluate(hide, False)
    page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
    page.wait_for_function("plot => plot.data.at(-2).customdata.at(-1) === 23", arg=plot.element_handle())


def test_no_chart_overflows_on_a_phone(runs: None, settings: Settings) -> None:
    recorded = recorded_run()
    with open_site(settings, width=390) as phone:
        phone.set_default_timeout(PATIENCE)
        for view in ("panels", "metrics"):
            phone.goto(f"/runs/{recorded.run.pk}/#{view}")
            phone.reload()
            expect(phone.locator(f"#charts-{view} .scatterlayer .trace").first).to_be_attached()
            assert phone.evaluate("document.documentElement.scrollWidth") <= 390


def test_the_style_guide_draws_its_charts(page: Page) -> None:
    page.goto("/styleguide/")
    expect(page.locator(f"{SUCCESS} .scatterlayer .trace").first).to_be_attached()
    empty = page.locator('[data-chart="value/explained_variance"] .chart-empty').first
    expect(empty).to_have_text("This run has no critic.")
