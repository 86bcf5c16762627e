"""Charts of ten runs of 10,000 steps with ten metrics, and of a run with 1,000 metrics, next to MLflow's.

`charts` makes the runs up; MLflow's tables in SQLite get the same values. Both sites serve over loopback, each in a
process of its own, and take turns:

* requests for all 100 curves, until the last byte: one of ours, which has each curve in 2,000 parts with their mean and
  extremes, and the ten that MLflow's charts send, one for each metric, with a sample of up to 2,500 of its values.
* pages in Chromium, which has opened each once before, until three charts with all their lines are painted: ten runs
  compared, and all metrics of one run.

For each: the median of our milliseconds and of MLflow's, and of the turns' ratios with the lowest and the highest.

    make setup-trackers
    python -m benchmarks.charts_against_mlflow [--turns N] [--steps N] [--metrics N]
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import sys
import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from playwright.sync_api import sync_playwright

from benchmarks.charts import CHARTS, KEY_STEPS, KEYS, RUNS, STEPS, fill, value
from benchmarks.databases import analyze, database, prepare_site
from benchmarks.first_load import TRACKERS_PYTHON, free_port, process
from benchmarks.lists_against_mlflow import (
    LOOPBACK,
    Request,
    Tool,
    View,
    drawn,
    new_context,
    requested,
)
from benchmarks.mlflow_site import compared, filled, served
from benchmarks.reader_opening import session
from benchmarks.recording import a_token
from tests.e2e.chromium import CHROMIUM, FLAGS

IN_VIEW = 3
PARTS, SAMPLE = 2000, 2500
EVERY = sys.maxsize  # whatever number of points a request answers with


def main() -> int:
    if CHROMIUM is None:
        raise SystemExit("Chromium is not on the PATH: apt install chromium")
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--turns", type=int, default=5, help="times that each is measured, in turn")
    parser.add_argument("--steps", type=int, default=STEPS, help="of the ten runs")
    parser.add_argument("--metrics", type=int, default=KEYS, help="of the other one")
    parser.add_argument("--trackers-python", default=str(TRACKERS_PYTHON), help="the interpreter that has MLflow")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch, database(False), contextlib.ExitStack() as stack:
        ours = stack.enter_context(starboard(Path(scratch), options))
        theirs = stack.enter_context(mlflow(options.trackers_python, Path(scratch)))
        curves = [partial(all_curves, tool) for tool in (ours, theirs)]
        result = {"curves": compared(options.turns, *curves)}
        playwright = stack.enter_context(sync_playwright())
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=[*FLAGS, LOOPBACK])
        contexts = [(new_context(browser, tool), tool) for tool in (ours, theirs)]
        for name in ours.views:
            pages = [partial(drawn, context, tool.views[name]) for context, tool in contexts]
            result[f"{name}_page"] = compared(options.turns, *pages)
        browser.close()
    sizes = {"runs": RUNS, "steps": options.steps, "charts": CHARTS, "metrics": options.metrics}
    sys.stdout.write(json.dumps({"benchmark": "charts_against_mlflow", **sizes, **result}) + "\n")
    return 0


def all_curves(tool: Tool) -> float:
    return sum(requested(tool, request) for request in tool.requests.values())


@contextlib.contextmanager
def starboard(scratch: Path, options: argparse.Namespace) -> Iterator[Tool]:
    """Our site as `make run` serves it, without worker and Redis. Writes the runs to files for MLflow."""
    port = free_port()
    os.environ |= {"PORT": str(port), "STARBOARD_API_READS_PER_MINUTE": "1000000"}
    prepare_site(scratch)
    names = [f"area/metric_{number}" for number in range(options.metrics)]
    runs = [fill(f"long-{number}", options.steps, names[:CHARTS]) for number in range(RUNS)]
    wide, cookie, token = fill("wide", KEY_STEPS, names), session(), a_token()
    analyze()
    long = [as_row(f"long-{number}", number, options.steps, names[:CHARTS]) for number in range(RUNS)]
    for name, rows in (("long", long), ("wide", [as_row("wide", RUNS, KEY_STEPS, names)])):
        (scratch / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    origin, ids, keys = f"http://127.0.0.1:{port}", ",".join(runs), ",".join(names[:CHARTS])
    curves = Request(f"/api/v1/bands?runs={ids}&keys={keys}&buckets={PARTS}", points_of_bands, at_most=EVERY)
    charts = "#compare-charts [data-chart]:has(.scatterlayer .trace:nth-child({lines}))"
    views = {
        "compare": View(f"/compare/?runs={ids}&metrics={keys}#compare-charts", charts.format(lines=RUNS), IN_VIEW),
        "all_metrics": View(f"/runs/{wide}/#metrics", "#view-metrics [data-chart]:has(.scatterlayer .trace)", IN_VIEW),
    }
    headers = {"Authorization": f"Bearer {token}", "Cookie": f"{cookie['name']}={cookie['value']}"}
    with process([sys.executable, "-m", "workers.launch.web"], f"{origin}/healthz", environment={}):
        yield Tool(origin, {"curves": curves}, views, headers, [{**cookie, "url": origin}])


def points_of_bands(text: str) -> int:
    return sum(len(series["mean"]) for run in json.loads(text)["runs"].values() for series in run["series"].values())


def as_row(name: str, number: int, steps: int, metrics: list[str]) -> dict[str, Any]:
    """The same values as those of `charts.fill`, as `mlflow_store` reads them."""
    shift = sum(map(ord, name))
    curves = {
        key: [value(step, index + shift, steps) for step in range(1, steps + 1)] for index, key in enumerate(metrics)
    }
    last = {key: values[-1] for key, values in curves.items()}
    created = 1_750_000_000_000 + 1000 * number
    return {
        "id": f"{number:032x}", "name": name, "step": steps, "created": created, "params": {"name": name},
        "metrics": last, "curves": curves,
    }  # fmt: skip


@contextlib.contextmanager
def mlflow(python: str, scratch: Path) -> Iterator[Tool]:
    experiment, *ids = filled(python, "benchmarks.mlflow_store", scratch / "long.jsonl", "long")
    of_wide, wide = filled(python, "benchmarks.mlflow_store", scratch / "wide.jsonl", "wide")
    requests = {}
    for number in range(CHARTS):
        query = {"run_ids": ids, "metric_key": f"area/metric_{number}", "max_results": SAMPLE}
        address = f"/ajax-api/2.0/mlflow/metrics/get-history-bulk-interval?{urlencode(query, doseq=True)}"
        requests[str(number)] = Request(address, lambda text: len(json.loads(text)["metrics"]), at_most=EVERY)
    lines = ".js-plotly-plot:has(.scatterlayer .trace:nth-child({lines}))"
    views = {
        "compare": View(f"/#/experiments/{experiment}/runs?compareRunsMode=CHART", lines.format(lines=RUNS), IN_VIEW),
        "all_metrics": View(f"/#/experiments/{of_wide}/runs/{wide}/model-metrics", lines.format(lines=1), IN_VIEW),
    }
    with served(python, scratch) as origin:
        yield Tool(origin, requests, views, {}, [])


if __name__ == "__main__":
    sys.exit(main())
