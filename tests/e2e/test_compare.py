"""The Compare page in a browser: one zoom for all charts that updates do not move, stable colours, live runs, and means
of groups."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.builders.long_run import long_run
from tests.builders.recorded_run import RecordedRun
from tests.builders.trajectories import record_steps
from tests.e2e.charts import ENTROPY, NORM, SUCCESS, drag, page
from tests.e2e.open_site import needs_chromium
from tests.e2e.threads import in_thread
from webapp.runs.models import Run

__all__ = ["page"]

pytestmark = [pytest.mark.e2e, needs_chromium, pytest.mark.django_db(transaction=True)]

LINES = "plot => plot.data.filter(trace => trace.name)"
COLOURS = f"plot => ({LINES})(plot).map(line => line.line.color)"
T_2 = 4.302653  # 97.5% quantile of t with two degrees of freedom


def runs_of(*names: str, steps: int = 20) -> list[RecordedRun]:
    """Runs of one configuration; the seed is the number of the run."""

    def record() -> list[RecordedRun]:
        made = [RecordedRun(name=name) for name in names]
        for number, recorded in enumerate(made, start=1):
            recorded.stream.seed(number)
            Run.objects.filter(pk=recorded.run.pk).update(config={**recorded.run.config, "seed": number}, colour=number)
            recorded.take_steps(steps)
            recorded.deliver()
        return made

    return in_thread(record)


def record_held_out(run: Run) -> None:
    environment = run.parsed_config().environments[0]
    record_steps(run, environment, steps=range(20, 21), split="validation", groups=2, group_size=1)


def visit(page: Page, runs: list[RecordedRun], query: str = "") -> None:
    page.goto(f"/compare/?runs={','.join(recorded.run.pk for recorded in runs)}{query}")


def drawn(page: Page, chart: str, lines: int) -> Locator:
    plot = page.locator(f"{chart} .chart-plot")
    plot.scroll_into_view_if_needed()
    page.wait_for_function(
        f"""([plot, count]) => {{
          const lines = plot.data ? ({LINES})(plot) : [];
          return lines.length === count && lines.every(line => line.x.length);  // a run's values may come later
        }}""",
        arg=[plot.element_handle(), lines],
    )
    return plot


def window(plot: Locator) -> Any:
    return plot.evaluate("plot => plot.layout.xaxis.range.map(end => end.toFixed(4))")


def test_a_zoom_survives_a_new_metric_a_hidden_run_and_updates(page: Page) -> None:
    one, two = runs_of("calm-otter", "bold-heron")
    visit(page, [one, two])
    plot = drawn(page, SUCCESS, 2)
    drag(page, SUCCESS, 0.2, 0.6)
    expect(page).to_have_url(re.compile(r"zoom=\d"))
    looked = window(plot)
    colours = plot.evaluate(COLOURS)
    page.get_by_label("metric").fill("rollout/response_tokens")
    page.get_by_label("metric").press("Enter")
    assert window(drawn(page, '[data-chart="rollout/response_tokens"]', 2)) == looked
    page.get_by_role("button", name="Curves of calm-otter").click()
    plot = drawn(page, SUCCESS, 1)
    assert plot.evaluate(COLOURS) == colours[1:]
    in_thread(lambda: (two.take_steps(5), two.deliver()))
    page.wait_for_function(f"plot => ({LINES})(plot)[0].x.length === 25", arg=plot.element_handle())
    expect(page.locator(f'[data-run="{two.run.pk}"] [data-step]')).to_have_text("step 25")
    assert window(plot) == looked
    page.reload()
    plot = drawn(page, SUCCESS, 1)
    assert (window(plot), plot.evaluate(COLOURS)) == (looked, colours[1:])
    drawn(page, '[data-chart="rollout/response_tokens"]', 1)


def test_curves_of_ended_runs_are_requested_once_and_of_live_runs_after_their_outline(page: Page) -> None:
    over, alive = runs_of("calm-otter", "bold-heron")
    in_thread(lambda: Run.objects.filter(pk=over.run.pk).update(state="finished"))
    requested: list[str] = []
    page.on("request", lambda request: requested.append(request.url.partition("/api/v1/")[2].partition("&")[0]))
    visit(page, [over, alive])
    drawn(page, SUCCESS, 2)
    drawn(page, ENTROPY, 2)
    assert [one for one in requested if one.startswith(("bands", "outlines"))] == [
        f"bands?runs={over.run.pk}",
        f"outlines?runs={over.run.pk},{alive.run.pk}",
        f"bands?runs={alive.run.pk}",
    ]


def test_adding_and_removing_runs_keeps_colours_and_zoom(page: Page) -> None:
    runs = runs_of("calm-otter", "bold-heron", "shy-lynx")
    visit(page, runs[:2], "&zoom=5..12&x=step")
    before = drawn(page, SUCCESS, 2).evaluate(COLOURS)
    page.get_by_text("Select runs").click()
    page.get_by_label("shy-lynx").check()
    page.get_by_role("button", name="Compare", exact=True).click()
    page.wait_for_url(re.compile(",".join(recorded.run.pk for recorded in runs)))
    plot = drawn(page, SUCCESS, 3)
    assert plot.evaluate(COLOURS)[:2] == before
    assert window(plot) == ["5.0000", "12.0000"]
    page.get_by_role("button", name="Remove calm-otter").click()
    page.wait_for_url(re.compile(rf"runs={runs[1].run.pk},{runs[2].run.pk}"))
    assert drawn(page, SUCCESS, 2).evaluate(COLOURS)[0] == before[1]


def test_the_crosshair_shows_every_run_and_a_click_opens_the_step_of_the_clicked_one(page: Page) -> None:
    one, two = runs_of("calm-otter", "bold-heron")
    visit(page, [one, two])
    drawn(page, SUCCESS, 2)
    drawn(page, ENTROPY, 2)
    page.locator(f"{ENTROPY} .nsewdrag").hover()
    expect(page.locator(f"{SUCCESS} .chart-crosshair")).to_be_visible()
    expect(page.locator(f"{SUCCESS} .chart-last")).to_have_text(re.compile(r"^step \d+$"))
    values = page.locator(f"{SUCCESS} .compare-key .num")
    for run, shown in ((one, values.nth(0)), (two, values.nth(1))):
        text = page.locator(f"{SUCCESS} .chart-last").inner_text()
        step = in_thread(lambda run=run, text=text: run.run.steps.get(step=int(text.split()[1])))
        assert float(shown.inner_text()) == pytest.approx(step.metrics["rollout/success"], abs=5e-4)
    page.locator(f"{SUCCESS} .chart-plot").focus()
    for key in ("ArrowDown", "ArrowDown", "ArrowLeft", "Enter"):
        page.keyboard.press(key)
    expect(page).to_have_url(re.compile(rf"/runs/{two.run.pk}/trajectories/\?step=\d+$"))


def test_three_seeds_are_one_line_with_a_band_that_the_reader_chooses(page: Page) -> None:
    runs = runs_of("calm-otter", "bold-heron", "shy-lynx")
    visit(page, runs, "&smoothing=0")
    drawn(page, SUCCESS, 3)
    page.get_by_label("group by").select_option("seeds")
    page.wait_for_url(re.compile(r"group=seeds"))
    plot = drawn(page, SUCCESS, 1)
    # the path of the band follows its upper edge and returns along the lower one
    edges = "({data}) => [data.at(-2).y[9], data.at(-2).y.at(-10), data.at(-1).y[9]]"
    values = [in_thread(lambda one=one: one.run.steps.get(step=10).metrics["rollout/success"]) for one in runs]
    middle = sum(values) / 3
    std = math.sqrt(sum((value - middle) ** 2 for value in values) / 2)
    reach = T_2 * std / math.sqrt(3)
    high, low, mean = plot.evaluate(edges)
    assert [low, mean, high] == pytest.approx([middle - reach, middle, middle + reach], abs=1e-6)
    expect(page.locator(f"{SUCCESS} .compare-key li")).to_contain_text(["calm-otter and 2 more seeds (n = 3)"])
    page.get_by_label("band").select_option("std")
    page.wait_for_function(
        f"([plot, high]) => Math.abs(({edges})(plot)[0] - high) < 1e-6", arg=[plot.element_handle(), middle + std]
    )
    expect(page).to_have_url(re.compile(r"band=std"))
    page.locator("#x-axis").select_option("time")  # runs of different days have no common hour
    drawn(page, SUCCESS, 3)
    expect(page.get_by_label("band")).to_be_disabled()


def test_what_the_outcome_goes_with_is_drawn_and_kept_in_the_url(page: Page) -> None:
    runs = runs_of("calm-otter", "bold-heron", "shy-lynx")
    rates = (1e-4, 1e-3, 1e-2)
    in_thread(lambda: [
        Run.objects.filter(pk=one.run.pk).update(config={**one.run.config, "optimizer": {"learning_rate": rate}})
        for one, rate in zip(runs, rates, strict=True)
    ])  # fmt: skip
    visit(page, runs, "&outcome=rollout/success")
    panel = page.locator("#settings-effects")
    panel.scroll_into_view_if_needed()
    expect(panel.locator("tbody th")).to_have_text(["optimizer.learning_rate"])
    expect(page.locator("#effects-parallel .scatterlayer .trace")).to_have_count(3)
    plot = page.locator("#effects-parallel")
    plot.scroll_into_view_if_needed()
    across = "plot => { const {l, r} = plot.layout.margin; return (plot.layout.width - l - r) * 0.15 / 1.2 + l; }"
    left, x = plot.bounding_box() or {}, plot.evaluate(across)
    page.mouse.move(left["x"] + x, left["y"] + 52)  # the rate's axis: 0.01 above, 1e-4 below, 1e-3 in the middle
    page.mouse.down()
    page.mouse.move(left["x"] + x, left["y"] + 120)
    page.mouse.move(left["x"] + x, left["y"] + 220)
    page.mouse.up()
    expect(panel.locator("#effects-selection")).to_contain_text("2 of 3 runs selected")
    expect(page).to_have_url(re.compile(r"brush=optimizer.learning_rate%7E0.001%7E0.01|brush=.*~0.001~0.01"))
    page.reload()
    panel.scroll_into_view_if_needed()
    expect(panel.locator("#effects-selection")).to_contain_text("optimizer.learning_rate: 0.001 to 0.01")
    page.locator("#effects-outcome").select_option("policy/entropy")
    expect(page).to_have_url(re.compile(r"outcome=policy/entropy"))
    expect(panel.locator("#effects-status")).to_contain_text("3 runs")
    panel.get_by_role("button", name="Compare only these").click()
    page.wait_for_url(re.compile(rf"runs={runs[1].run.pk},{runs[2].run.pk}"))
    assert "brush" not in page.url


def test_zooming_into_long_runs_shows_every_step_of_each(page: Page) -> None:
    runs = in_thread(lambda: [long_run(2400, spike_at=800), long_run(2300)])
    visit(page, runs)
    plot = drawn(page, NORM, 2)
    assert plot.evaluate(f"plot => ({LINES})(plot).map(line => line.x.length)") == [600, 600]
    assert plot.evaluate("plot => Math.max(...plot.data.flatMap(trace => trace.y))") == 900
    drag(page, NORM, 0.30, 0.36)
    page.wait_for_function(
        f"plot => ({LINES})(plot).every(line => [800, 801].every(step => line.x.includes(step)))",
        arg=plot.element_handle(),
    )


def test_the_values_of_all_runs_can_be_downloaded(page: Page, tmp_path: Path) -> None:
    runs = runs_of("calm-otter", "bold-heron")
    visit(page, runs)
    drawn(page, NORM, 2)
    for ending in ("CSV", "SVG"):
        page.locator(f"{NORM} .chart-menu summary").click()
        with page.expect_download() as download:
            page.locator(NORM).get_by_role("button", name=ending).click()
        download.value.save_as(tmp_path / ending)
    lines = (tmp_path / "CSV").read_text().splitlines()
    assert lines[0] == "run,name,step,tokens,training_seconds,unix_time,optim/grad_norm"
    assert [line.split(",")[1] for line in lines[1:]] == ["calm-otter"] * 20 + ["bold-heron"] * 20
    assert "bold-heron" in (tmp_path / "SVG").read_text()  # the picture includes its legend


def test_held_out_results_are_a_chart_and_the_axes_are_kept_in_the_url(page: Page) -> None:
    runs = runs_of("calm-otter", "bold-heron")
    visit(page, runs)
    held_out = drawn(page, '[data-chart="eval/Lake/success"]', 2)
    assert held_out.evaluate(f"plot => ({LINES})(plot)[0].x") == [10, 20]
    drawn(page, ENTROPY, 2)
    page.locator(ENTROPY).get_by_role("button", name="log").click()
    page.locator("#x-axis").select_option("tokens")
    page.reload()
    plot = drawn(page, ENTROPY, 2)
    assert plot.evaluate("plot => [plot.layout.yaxis.type, plot.data.at(-1).x.at(-1)]") == ["log", 180_000]


def test_nothing_overflows_on_a_phone(page: Page) -> None:
    runs = runs_of("calm-otter-with-a-name-that-goes-on-and-on-without-end", "bold-heron")
    in_thread(lambda: [record_held_out(recorded.run) for recorded in runs])  # a table wider than the screen
    page.set_viewport_size({"width": 390, "height": 844})
    visit(page, runs)
    drawn(page, SUCCESS, 2)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
