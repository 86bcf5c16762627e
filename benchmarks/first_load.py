"""The first load of a run's page over a slow network: 80 ms round trips and 10 Mbit/s, emulated by Chromium.

A finished run of 500 steps has the six charts that every run shows first. Cold is a browser that has nothing of the
site; warm is the same browser, which opens the page again. For each: milliseconds from the address to the first
painted curve, and to all charts in view; the number of requests; the kilobytes received. trackio and MLflow, where
`.venv-trackers` has them, show the same values of the same metrics in their own pages, with their own servers. The
three take turns, `--rounds` times, and each server runs in a process of its own.

    make setup-trackers
    python -m benchmarks.first_load [--rounds N]
"""

from __future__ import annotations

import argparse
import contextlib
import json
import math
import os
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from playwright.sync_api import Browser, CDPSession, Page, sync_playwright

from engine.metrics import OVERVIEW
from tests.e2e.chromium import CHROMIUM, FLAGS

ROOT = Path(__file__).resolve().parents[1]
TRACKERS_PYTHON = ROOT / ".venv-trackers" / "bin" / "python"
STEPS = 500
LATENCY_MS, BITS_PER_SECOND = 80, 10_000_000
METRICS = [name for chart in OVERVIEW for name in chart.names if not name.startswith("eval/")]
WAIT_MS = 60_000
# when the first curve and the expected number of charts were on the screen: two frames after they were found
WATCH = """(() => {
  const painted = (chart) => {
    const box = chart.getBoundingClientRect();
    return box.width > 40 && box.height > 20 && box.top < innerHeight && box.bottom > 0;
  };
  window.timesOf = (first, all, count) => new Promise((resolve) => {
    const times = {};
    const frames = (name) => requestAnimationFrame(() => requestAnimationFrame(() => {
      times[name] = performance.now();
      if (times.first && times.all) resolve(times);
    }));
    let seen = false, done = false;
    const look = () => {
      if (!seen && [...document.querySelectorAll(first)].some(painted)) { seen = true; frames("first"); }
      if (!done && [...document.querySelectorAll(all)].filter(painted).length >= count) { done = true; frames("all"); }
      if (!seen || !done) requestAnimationFrame(look);
    };
    look();
  });
})();"""


class Tracker(NamedTuple):
    """The page on which a tool shows the run, and its selectors for a chart with a curve: the first one, and all in
    view."""

    name: str
    origin: str
    path: str
    first: str
    all: str
    elements: int
    cookies: tuple[dict[str, str], ...] = ()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5, help="times that each is opened cold and warm, in turn")
    parser.add_argument("--only-ours", action="store_true", help="without trackio and MLflow")
    parser.add_argument("--trackers-python", default=str(TRACKERS_PYTHON), help="the interpreter that has them")
    options = parser.parse_args()
    if CHROMIUM is None:
        raise SystemExit("Chromium is not on the PATH: apt install chromium")
    with tempfile.TemporaryDirectory() as scratch, contextlib.ExitStack() as stack:
        trackers = [stack.enter_context(starboard(Path(scratch)))]
        if not options.only_ours and Path(options.trackers_python).exists():
            for serve in (trackio, mlflow):
                trackers.append(stack.enter_context(serve(options.trackers_python, Path(scratch))))
        playwright = stack.enter_context(sync_playwright())
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        rounds = [{one.name: open_twice(browser, one) for one in trackers} for _ in range(options.rounds)]
        browser.close()
    result = {one.name: summary([each[one.name] for each in rounds]) for one in trackers}
    sys.stdout.write(json.dumps({"benchmark": "first_load", "network": "80 ms, 10 Mbit/s", **result}) + "\n")
    return 0


def open_twice(browser: Browser, tracker: Tracker) -> dict[str, dict[str, float]]:
    """Cold, then warm, in one new browser context."""
    context = browser.new_context(base_url=tracker.origin, viewport={"width": 1440, "height": 900})
    context.add_init_script(WATCH)
    context.add_cookies(
        [{"name": one["name"], "value": one["value"], "url": tracker.origin} for one in tracker.cookies]
    )
    try:
        return {"cold": opened(context.new_page(), tracker), "warm": opened(context.new_page(), tracker)}
    finally:
        context.close()


def opened(page: Page, tracker: Tracker) -> dict[str, float]:
    session = page.context.new_cdp_session(page)
    received = slow_network(session)
    page.goto(tracker.path, wait_until="commit")
    page.wait_for_function("() => window.timesOf", timeout=WAIT_MS)
    watched = f"{json.dumps(tracker.first)}, {json.dumps(tracker.all)}, {tracker.elements}"
    page.evaluate(f"void timesOf({watched}).then((times) => {{ window.times = times; }})")
    times = page.wait_for_function("() => window.times", timeout=WAIT_MS).json_value()
    page.close()
    return {"first_curve_ms": times["first"], "all_charts_ms": times["all"], **received}


def slow_network(session: CDPSession) -> dict[str, float]:
    """Emulates the network from now on; the returned counter counts requests and kilobytes received."""
    received: dict[str, float] = {"requests": 0, "kilobytes": 0}

    def loaded(event: dict[str, Any]) -> None:
        received["kilobytes"] += event["encodedDataLength"] / 1000
        received["requests"] += event["encodedDataLength"] > 0

    session.send("Network.enable")
    session.on("Network.loadingFinished", loaded)
    rate = BITS_PER_SECOND / 8
    throttle = {"offline": False, "latency": LATENCY_MS, "downloadThroughput": rate, "uploadThroughput": rate}
    session.send("Network.emulateNetworkConditions", throttle)
    return received


def summary(rounds: list[dict[str, dict[str, float]]]) -> dict[str, dict[str, int]]:
    """Medians over the rounds."""
    return {
        visit: {key: round(statistics.median(each[visit][key] for each in rounds)) for key in rounds[0][visit]}
        for visit in ("cold", "warm")
    }


def value(name: str, step: int) -> float:
    """A curve that rises, with noise that is the same in every tool."""
    index = METRICS.index(name)
    return round(0.4 + 0.3 * math.tanh(step / 200 + index / 10) + 0.05 * math.sin(12.9898 * (step + 78.233 * index)), 5)


@contextlib.contextmanager
def starboard(scratch: Path) -> Iterator[Tracker]:
    """Our site as `make run` serves it, without worker and Redis."""
    from benchmarks.databases import prepare_site
    from benchmarks.reader_opening import session

    port = free_port()
    os.environ |= {"PORT": str(port)}
    prepare_site(scratch)
    run, cookie = stored_run(), session()
    command = [sys.executable, "-m", "workers.launch.web"]
    with process(command, f"http://127.0.0.1:{port}/healthz", environment={"PORT": str(port)}):
        curve = "#charts-overview .chart-preview path, #charts-overview .scatterlayer .trace path"
        charts = "#charts-overview [data-chart]:has(.scatterlayer .trace)"
        yield Tracker("starboard", f"http://127.0.0.1:{port}", f"/runs/{run}/", curve, charts, len(OVERVIEW), (cookie,))


def stored_run() -> str:
    from engine.config import RunConfig
    from webapp.runs.models import MetricName, Run, StepMetrics

    config = RunConfig(steps=STEPS).model_dump(mode="json")
    run = Run.objects.create(name="first load", config=config, step=STEPS, total_steps=STEPS, state="finished")
    StepMetrics.objects.bulk_create(
        (
            StepMetrics(
                run=run, seq=step, step=step, tokens=4000 * step, seconds=2.0 * step, time=1e9 + 2.0 * step, attempt=1,
                metrics={name: value(name, step) for name in METRICS},
            )
            for step in range(1, STEPS + 1)
        ),
        500,
    )  # fmt: skip
    MetricName.objects.bulk_create([MetricName(run=run, name=name) for name in METRICS])
    return str(run.pk)


TRACKIO = """
import json, os, sys, trackio
metrics, steps, port = json.loads(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
trackio.init(project="bench", name="first-load", auto_log_gpu=False, auto_log_cpu=False)
for step in range(steps):
    trackio.log({name: values[step] for name, values in metrics.items()}, step=step + 1)
trackio.finish()
trackio.show(project="bench", open_browser=False, block_thread=True, server_port=port)
"""


@contextlib.contextmanager
def trackio(python: str, scratch: Path) -> Iterator[Tracker]:
    port = free_port()
    environment = {"TRACKIO_DIR": str(scratch / "trackio"), "HF_HUB_OFFLINE": "1"}
    origin = f"http://127.0.0.1:{port}"
    with process([python, "-c", TRACKIO, columns(), str(STEPS), str(port)], origin, environment=environment):
        charts = ".vega-embed canvas"
        yield Tracker("trackio", origin, "/?project=bench", charts, charts, 3)


MLFLOW = """
import json, sys, mlflow
from mlflow.entities import Metric
from mlflow.tracking import MlflowClient
metrics, steps, store = json.loads(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
client = MlflowClient(store)
run = client.create_run(client.create_experiment("bench", tags={"mlflow.experimentKind": "custom_model_development"}))
points = [
    Metric(name, values[step], 1_000_000 + step, step + 1) for name, values in metrics.items() for step in range(steps)
]
for begin in range(0, len(points), 1000):
    client.log_batch(run.info.run_id, metrics=points[begin : begin + 1000])
client.set_terminated(run.info.run_id)
print(run.info.experiment_id, run.info.run_id)
"""


@contextlib.contextmanager
def mlflow(python: str, scratch: Path) -> Iterator[Tracker]:
    port, store = free_port(), f"sqlite:///{scratch / 'mlflow.db'}"
    filled = subprocess.run(
        [python, "-c", MLFLOW, columns(), str(STEPS), store], capture_output=True, text=True, check=True, cwd=scratch
    )
    experiment, run = filled.stdout.split()[-2:]
    command = [python, "-m", "mlflow", "server", "--backend-store-uri", store, "--host", "127.0.0.1", "--workers", "1"]
    origin = f"http://127.0.0.1:{port}"
    with process([*command, "--port", str(port)], f"{origin}/health", environment={}, folder=scratch):
        page = f"/#/experiments/{experiment}/runs/{run}/model-metrics"
        charts = ".js-plotly-plot:has(.scatterlayer .trace path)"
        yield Tracker("mlflow", origin, page, charts, charts, 3)


def columns() -> str:
    return json.dumps({name: [value(name, step) for step in range(1, STEPS + 1)] for name in METRICS})


@contextlib.contextmanager
def process(
    command: list[str], address: str, *, environment: dict[str, str], folder: Path = ROOT, seconds: float = 120
) -> Iterator[None]:
    """A server in a session of its own, from its first response at `address` to the end of the block."""
    with tempfile.TemporaryFile("w+") as output:
        server = subprocess.Popen(
            command, env={**os.environ, **environment}, cwd=folder, stdout=output, stderr=output, start_new_session=True
        )
        try:
            until = time.monotonic() + seconds
            while not answers(address):
                if server.poll() is not None or time.monotonic() > until:
                    output.seek(0)
                    raise SystemExit(f"{' '.join(command[:4])} does not answer:\n{output.read()[-3000:]}")
                time.sleep(0.2)
            yield
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(server.pid, signal.SIGTERM)
            with contextlib.suppress(subprocess.TimeoutExpired):
                server.wait(10)
            with contextlib.suppress(ProcessLookupError):
                os.killpg(server.pid, signal.SIGKILL)


def answers(address: str) -> bool:
    try:
        urllib.request.urlopen(address, timeout=2)
    except urllib.error.HTTPError:
        return True
    except OSError:
        return False
    return True


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


if __name__ == "__main__":
    sys.exit(main())
