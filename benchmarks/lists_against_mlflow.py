"""The list of 10,000 runs, the leaderboard and a comparison of 50 runs, next to MLflow's, which has the same runs.

`run_lists` makes the runs up; the newest 50 have a curve of 500 steps. All of them, with their parameters, their last
metrics and what their evaluations measured, are written to MLflow's tables in SQLite too. Both sites serve over
loopback, each in a process of its own, and take turns, `--rounds` times:

* requests, each until the last byte of 50 rows, or of the 50 curves. Our leaderboard also ranks its entries and tests
  their differences.
* pages in Chromium, which has opened each once before, until the rows that fill the window or 50 curves are painted.
  MLflow's list always has 100 rows. Its comparison has no curves: `curves` is its page of one metric of the 50 runs.

For each: the median of our milliseconds and of MLflow's, and of the rounds' ratios with the lowest and the highest.

    make setup-trackers
    python -m benchmarks.lists_against_mlflow [--rounds N] [--runs N] [--postgres]
"""

from __future__ import annotations

import argparse
import contextlib
import http.client
import json
import math
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote, urlencode, urlsplit

from playwright.sync_api import Browser, BrowserContext, TimeoutError, sync_playwright

from benchmarks.databases import add_option, analyze, database, prepare_site, vendor
from benchmarks.first_load import TRACKERS_PYTHON, WATCH, free_port, process
from benchmarks.mlflow_site import filled, served
from tests.e2e.chromium import CHROMIUM, FLAGS

COMPARED, STEPS = 50, 500
ROWS, ROWS_IN_VIEW = 50, 8
TURNS = 5  # requests of a kind in a round
CURVE = "reward/mean"
MEASURES = ("success", "mean_return", "turns", "tokens", "well_formed")  # of an entry of the leaderboard
WAIT_MS = 180_000
LOOPBACK = "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"
Row = dict[str, Any]


class Request(NamedTuple):
    """`count` is of the rows or points in the answer: all of 50, or of the 50 curves, or between 1 and `at_most`."""

    address: str
    count: Callable[[str], int]
    body: Row | None = None
    at_most: int = 0


class View(NamedTuple):
    """A page, and how many elements of a selector are in its window once it is drawn."""

    address: str
    selector: str
    elements: int


class Tool(NamedTuple):
    origin: str
    requests: dict[str, Request]
    views: dict[str, View]
    headers: dict[str, str]
    cookies: list[Any]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5, help="times that each is measured, in turn")
    parser.add_argument("--runs", type=int, default=10_000)
    parser.add_argument("--minutes", type=float, default=4, help="after which no further round begins")
    parser.add_argument("--trackers-python", default=str(TRACKERS_PYTHON), help="the interpreter that has MLflow")
    add_option(parser)
    options = parser.parse_args()
    if CHROMIUM is None:
        raise SystemExit("Chromium is not on the PATH: apt install chromium")
    with tempfile.TemporaryDirectory() as scratch, database(options.postgres), contextlib.ExitStack() as stack:
        ours = stack.enter_context(starboard(Path(scratch), options.runs))
        theirs = stack.enter_context(mlflow(options.trackers_python, Path(scratch)))
        tools = {"starboard": ours, "mlflow": theirs}
        playwright = stack.enter_context(sync_playwright())
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=[*FLAGS, LOOPBACK])
        contexts = {name: new_context(browser, tool) for name, tool in tools.items()}
        rounds = [measured(tools, contexts)]  # to warm up
        until = time.monotonic() + 60 * options.minutes
        while len(rounds) <= options.rounds and (len(rounds) < 2 or time.monotonic() < until):
            rounds.append(measured(tools, contexts))
        browser.close()
    counted = rounds[1:]
    result = {name: summary([one[name] for one in counted]) for name in counted[0]}
    found = {
        "benchmark": "lists_against_mlflow",
        "database": vendor(),
        "runs": options.runs,
        "rounds": len(counted),
        **result,
    }
    sys.stdout.write(json.dumps(found) + "\n")
    return 0


def measured(tools: dict[str, Tool], contexts: dict[str, BrowserContext]) -> dict[str, dict[str, float]]:
    """Milliseconds by what is measured and by tool."""
    ours = tools["starboard"]
    found: dict[str, dict[str, float]] = {}
    for name in ours.requests:
        turns = [{tool: requested(one, one.requests[name]) for tool, one in tools.items()} for _ in range(TURNS)]
        found[f"{name}_request"] = {tool: statistics.median(turn[tool] for turn in turns) for tool in tools}
    for name in ours.views:
        found[f"{name}_page"] = {tool: drawn(contexts[tool], one.views[name]) for tool, one in tools.items()}
    return found


def summary(rounds: list[dict[str, float]]) -> dict[str, Any]:
    ratios = [one["mlflow"] / one["starboard"] for one in rounds]
    return {
        "starboard_ms": round(statistics.median(one["starboard"] for one in rounds)),
        "mlflow_ms": round(statistics.median(one["mlflow"] for one in rounds)),
        "ratio": round(statistics.median(ratios), 2),
        "ratios": [round(min(ratios), 2), round(max(ratios), 2)],
    }


def requested(tool: Tool, request: Request) -> float:
    """Milliseconds from the open connection to the last byte."""
    return _sent(tool, request)[0]


def answer(tool: Tool, request: Request) -> str:
    return _sent(tool, request)[1]


def _sent(tool: Tool, request: Request) -> tuple[float, str]:
    connection = http.client.HTTPConnection(urlsplit(tool.origin).netloc, timeout=WAIT_MS / 1000)
    body = json.dumps(request.body) if request.body else None
    headers = tool.headers | ({"Content-Type": "application/json"} if body else {})
    connection.connect()
    began = time.perf_counter()
    connection.request("POST" if body else "GET", request.address, body, headers)
    answer = connection.getresponse()
    text = answer.read().decode()
    milliseconds = 1000 * (time.perf_counter() - began)
    connection.close()
    if answer.status != 200:
        raise SystemExit(f"{tool.origin}{request.address} answered {answer.status}: {text[:500]}")
    expected = range(1, request.at_most + 1) if request.at_most else (ROWS, COMPARED * STEPS)
    if (counted := request.count(text)) not in expected:
        raise SystemExit(f"{request.address} has {counted} rows or points")
    return milliseconds, text


def new_context(browser: Browser, tool: Tool) -> BrowserContext:
    context = browser.new_context(base_url=tool.origin, viewport={"width": 1440, "height": 900})
    context.add_init_script(WATCH)
    context.add_cookies(tool.cookies)
    return context


def drawn(context: BrowserContext, view: View) -> float:
    """Milliseconds from the address to painted pixels, in a new page."""
    page = context.new_page()
    page.goto(view.address, wait_until="commit")
    page.wait_for_function("() => window.timesOf", timeout=WAIT_MS)
    watched = f"{json.dumps(view.selector)}, {json.dumps(view.selector)}, {view.elements}"
    page.evaluate(f"void timesOf({watched}).then((times) => {{ window.times = times; }})")
    try:
        times = page.wait_for_function("() => window.times", timeout=WAIT_MS).json_value()
    except TimeoutError:
        raise SystemExit(f"{page.url[:200]} has not drawn {view.elements} times {view.selector}") from None
    page.close()
    return float(times["all"])


@contextlib.contextmanager
def starboard(scratch: Path, count: int) -> Iterator[Tool]:
    """Our site as `make run` serves it, without worker and Redis. Writes the runs for MLflow to `runs.jsonl`."""
    from benchmarks.reader_opening import session
    from benchmarks.recording import a_token
    from benchmarks.run_lists import fill

    port = free_port()
    os.environ |= {"PORT": str(port), "STARBOARD_API_READS_PER_MINUTE": "1000000"}
    prepare_site(scratch)
    fill(count)
    compared = with_curves()
    analyze()
    with (scratch / "runs.jsonl").open("w") as lines:
        lines.writelines(json.dumps(row) + "\n" for row in as_rows())
    origin, cookie, token = f"http://127.0.0.1:{port}", session(), a_token()
    ids = ",".join(compared)
    curves = f"/api/v1/bands?runs={ids}&keys={CURVE}&buckets=2000"
    sorted_runs = f"/runs/?sort=-last:{CURVE}&columns=name,created,last:{CURVE},last:policy/entropy"
    rows, chart = "tbody tr:has(a)", f"#compare-charts [data-chart]:has(.scatterlayer .trace:nth-child({COMPARED}))"
    compare = View(f"/compare/?runs={ids}&metrics={CURVE}#compare-charts", chart, 1)  # below fifty names
    with process([sys.executable, "-m", "workers.launch.web"], f"{origin}/healthz", environment={}):
        yield Tool(
            origin,
            {
                "runs": Request(f"/api/v1/runs/?limit={ROWS}", lambda text: len(json.loads(text)["runs"])),
                "runs_by_metric": Request(
                    f"/api/v1/runs/?limit={ROWS}&sort=-last:{CURVE}", lambda text: len(json.loads(text)["runs"])
                ),
                "leaderboard": Request(
                    f"/api/v1/leaderboard/entries?limit={ROWS}", lambda text: len(json.loads(text)["rows"])
                ),
                "curves": Request(curves, _points),
            },
            {
                "runs": View("/runs/", rows, ROWS_IN_VIEW),
                "runs_by_metric": View(sorted_runs, rows, ROWS_IN_VIEW),
                "leaderboard": View("/leaderboard/", rows, ROWS_IN_VIEW),
                "compare": compare,
                "curves": compare,
            },
            {"Authorization": f"Bearer {token}", "Cookie": f"{cookie['name']}={cookie['value']}"},
            [{**cookie, "url": origin}],
        )


def _points(text: str) -> int:
    return sum(len(run["series"][CURVE]["mean"]) for run in json.loads(text)["runs"].values())


def with_curves() -> list[str]:
    """Adds curves to the newest runs, which end at the values that the runs have."""
    from webapp.runs.models import MetricName, Run, StepMetrics

    runs = list(Run.objects.order_by("-created_at")[:COMPARED])
    for run in runs:
        last = MetricName.objects.get(run=run, name=CURVE).last or 0.0
        StepMetrics.objects.bulk_create(
            (
                StepMetrics(
                    run=run, seq=step, step=step, tokens=4000 * step, seconds=2.0 * step, time=1e9 + 2.0 * step,
                    attempt=1, metrics={CURVE: value},
                )
                for step, value in enumerate(curve(last), 1)
            ),
            500,
        )  # fmt: skip
    Run.objects.filter(pk__in=[run.pk for run in runs]).update(step=STEPS, total_steps=STEPS)
    return [str(run.pk) for run in runs]


def curve(last: float) -> list[float]:
    """A rise to `last` with an oscillation that ends there."""
    return [
        last * step / STEPS + 0.3 * math.sin(step / 20 + 10 * last) * (1 - step / STEPS) for step in range(1, STEPS + 1)
    ]


def as_rows() -> Iterator[Row]:
    """Every run: its parameters, the last value of each metric, what its entry of the leaderboard measured, curves."""
    from webapp.leaderboard.models import Entry
    from webapp.runs.models import MetricName, Run

    metrics: dict[Any, dict[str, float]] = {}
    for pk, name, last in MetricName.objects.values_list("run_id", "name", "last").iterator():
        metrics.setdefault(pk, {})[name] = last or 0.0
    for pk, *values in Entry.objects.values_list("run_id", *MEASURES).iterator():
        metrics[pk] |= dict(zip((f"board/{name}" for name in MEASURES), values, strict=True))
    oldest_first = Run.objects.order_by("created_at").only("pk", "name", "preset", "config", "step")
    for number, run in enumerate(oldest_first.iterator(500)):
        curves = {CURVE: curve(metrics[run.pk][CURVE])} if run.step == STEPS else {}
        tag = run.config["environments"][0]["tag"]
        params = {"preset": run.preset, "environment": tag, "seed": str(run.config["seed"])}
        yield {
            "id": f"{number:032x}", "name": run.name, "step": run.step, "created": 1_750_000_000_000 + 1000 * number,
            "params": params, "metrics": metrics[run.pk], "curves": curves,
        }  # fmt: skip


@contextlib.contextmanager
def mlflow(python: str, scratch: Path) -> Iterator[Tool]:
    experiment, *ids = filled(python, "benchmarks.mlflow_store", scratch / "runs.jsonl")
    with served(python, scratch) as origin:
        yield Tool(origin, mlflow_requests(experiment, ids), mlflow_views(experiment, ids), {}, [])


def mlflow_requests(experiment: str, ids: list[str]) -> dict[str, Request]:
    def searched(order: str) -> Request:
        body = {"experiment_ids": [experiment], "max_results": ROWS, "order_by": [order]}
        return Request("/api/2.0/mlflow/runs/search", lambda text: len(json.loads(text)["runs"]), body)

    bulk = urlencode({"run_ids": ids, "metric_key": CURVE, "max_results": STEPS}, doseq=True)
    history = f"/ajax-api/2.0/mlflow/metrics/get-history-bulk-interval?{bulk}"
    return {
        "runs": searched("attributes.start_time DESC"),
        "runs_by_metric": searched(f"metrics.`{CURVE}` DESC"),
        "leaderboard": searched("metrics.`board/success` DESC"),
        "curves": Request(history, lambda text: len(json.loads(text)["metrics"])),
    }


def mlflow_views(experiment: str, ids: list[str]) -> dict[str, View]:
    rows = ".ag-row:has(a)"
    of_the_runs = f"runs={quote(json.dumps(ids))}&experiments={quote(json.dumps([experiment]))}"
    one_metric = f"metric={quote(json.dumps(CURVE))}&plot_metric_keys={quote(json.dumps([CURVE]))}"

    def sorted_by(metric: str) -> View:
        order = quote(f"metrics.`{metric}`")
        return View(f"/#/experiments/{experiment}/runs?orderByKey={order}&orderByAsc=false", rows, ROWS_IN_VIEW)

    return {
        "runs": View(f"/#/experiments/{experiment}/runs", rows, ROWS_IN_VIEW),
        "runs_by_metric": sorted_by(CURVE),
        "leaderboard": sorted_by("board/success"),
        "compare": View(f"/#/compare-runs?{of_the_runs}", ".js-plotly-plot:has(.parcoords)", 1),
        "curves": View(
            f"/#/metric?{of_the_runs}&{one_metric}",
            f".js-plotly-plot:has(.scatterlayer .trace:nth-child({COMPARED}))",
            1,
        ),
    }


if __name__ == "__main__":
    sys.exit(main())
