"""How long charts of long runs take in Chromium, from the address to drawn curves, and a run of 1,000 metrics.

Compare opens 10 runs of 10,000 steps, of one configuration and ten seeds, with 10 charts; each metric has one step that
stands out: once with the server having read none of them, once again. *All metrics* opens a run of 500 steps that has
1,000 metrics. A page counts as drawn when every chart in view has its lines and two frames have passed; the first time,
with nothing of the site in the browser yet, is measured separately. Rows are generated, in a new database; the
server runs in this process. Needs Chromium.

    python -m benchmarks.charts [--postgres]
"""

from __future__ import annotations

import argparse
import contextlib
import json
import math
import statistics
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from playwright.sync_api import Page, sync_playwright

from benchmarks.databases import add_option, analyze, database, prepare_site, vendor
from benchmarks.reader_opening import server, session
from tests.e2e.chromium import CHROMIUM, FLAGS

RUNS, CHARTS, STEPS = 10, 10, 10_000
KEYS, KEY_STEPS = 1000, 500
REPEATS = 5
# in the page from the start: when the charts in view had their lines, as many each as expected
WATCH = """window.whenDrawn = (within, lines) => new Promise((resolve) => {
  const look = () => {
    const charts = [...document.querySelectorAll(`${within} [data-chart]`)].filter((chart) => {
      const { top, bottom, height } = chart.getBoundingClientRect();
      return height && bottom > 0 && top < innerHeight;
    });
    const drawn = (chart) => chart.querySelectorAll('.scatterlayer .trace').length >= lines;
    if (!charts.length || !charts.every(drawn)) return requestAnimationFrame(look);
    requestAnimationFrame(() => requestAnimationFrame(() => resolve(performance.now())));
  };
  look();
});"""


def main() -> int:
    if CHROMIUM is None:
        raise SystemExit("Chromium is not on the PATH: apt install chromium")
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_option(parser)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch, database(options.postgres), contextlib.ExitStack() as stack:
        prepare_site(Path(scratch))
        names = [f"area/metric_{number}" for number in range(KEYS)]
        runs = [fill(f"long-{number}", STEPS, names[:CHARTS]) for number in range(RUNS)]
        wide, cookie = fill("wide", KEY_STEPS, names), session()
        analyze()
        origin = stack.enter_context(server())
        playwright = stack.enter_context(sync_playwright())
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        context = browser.new_context(base_url=origin, viewport={"width": 1440, "height": 900})
        context.add_init_script(WATCH)
        context.add_cookies([{"name": cookie["name"], "value": cookie["value"], "url": origin}])
        compare = f"/compare/?runs={','.join(runs)}&metrics={','.join(names[:CHARTS])}"
        page, charts = context.new_page(), "#compare-charts"
        result = {
            "compare_10_runs_first": opening(page, compare, charts, lines=RUNS, before=forget_what_was_read),
            "compare_10_runs_again": opening(page, compare, charts, lines=RUNS),
            "all_metrics_1000": opening(context.new_page(), f"/runs/{wide}/#metrics", "#view-metrics", lines=1),
        }
        browser.close()
    sys.stdout.write(json.dumps({"benchmark": "charts", "database": vendor(), **result}) + "\n")
    return 0


def fill(name: str, steps: int, metrics: list[str]) -> str:
    """A finished run whose metrics oscillate, each with its own phase, with one spike."""
    from engine.config import RunConfig
    from webapp.runs.models import MetricName, Run, StepMetrics

    config = RunConfig(steps=steps, seed=sum(map(ord, name))).model_dump(mode="json")
    run = Run.objects.create(name=name, config=config, step=steps, total_steps=steps, state="finished")
    shift = sum(map(ord, name))
    StepMetrics.objects.bulk_create(
        (
            StepMetrics(
                run=run, seq=step, step=step, tokens=4000 * step, seconds=2.0 * step, time=1e9 + 2.0 * step, attempt=1,
                metrics={key: value(step, index + shift, steps) for index, key in enumerate(metrics)},
            )
            for step in range(1, steps + 1)
        ),
        500,
    )  # fmt: skip
    MetricName.objects.bulk_create([MetricName(run=run, name=metric) for metric in metrics], 500)
    return str(run.pk)


def value(step: int, index: int, steps: int) -> float:
    return 5.0 if step == (index * 37) % steps + 1 else round(math.sin(step / 300 + index), 4)


def forget_what_was_read() -> None:
    from webapp.live.column_cache import CACHE

    CACHE.runs.clear()


def opening(
    page: Page, address: str, within: str, *, lines: int, before: Callable[[], None] = lambda: None
) -> dict[str, Any]:
    found = []
    for _ in range(REPEATS + 1):
        page.goto("about:blank")
        before()
        page.goto(address, wait_until="commit")
        page.wait_for_function("() => window.whenDrawn")
        found.append(page.evaluate(f"whenDrawn({json.dumps(within)}, {lines})"))
    median, worst = round(statistics.median(found[1:])), round(max(found[1:]))
    return {"first_ms": round(found[0]), "median_ms": median, "worst_ms": worst}


if __name__ == "__main__":
    sys.exit(main())
