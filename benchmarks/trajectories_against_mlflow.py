"""The list of a run's 50,000 trajectories, next to MLflow's traces, which have the same outcomes and texts.

`trajectory_list` makes them up. Both sites serve over loopback from SQLite, each in a process of its own, and take
turns. The same six lists are asked for in two ways:

* a request, until the last byte of 50 rows: our API's list with the beginning of each text, and the search that
  MLflow's page sends, whose answer has that text too. The rows of both are compared.
* the page in Chromium, which has opened it once before, with 50 rows, until those in its window are painted. Ours asks
  for the counts of what matches meanwhile; MLflow's has none.

For each: the median of our milliseconds and of MLflow's, and of the turns' ratios with the lowest and the highest; of a
request also the size of both answers.

    make setup-trackers
    python -m benchmarks.trajectories_against_mlflow [--rows N] [--turns N]
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
from typing import Any, NamedTuple

from playwright.sync_api import sync_playwright

from benchmarks.databases import analyze, database, prepare_site
from benchmarks.first_load import TRACKERS_PYTHON, free_port, process
from benchmarks.lists_against_mlflow import (
    LOOPBACK,
    ROWS,
    ROWS_IN_VIEW,
    Request,
    Tool,
    View,
    answer,
    drawn,
    new_context,
    requested,
)
from benchmarks.mlflow_site import compared, filled, served
from benchmarks.reader_opening import session
from benchmarks.recording import a_token
from benchmarks.trajectory_list import fill
from tests.e2e.chromium import CHROMIUM, FLAGS


class Asked(NamedTuple):
    """One list, as our page, our API, MLflow's search (filter, order) and MLflow's page are asked for it."""

    page: str
    api: str
    words: str
    order: str
    their_page: str


NEWEST, NO, KEPT = "timestamp DESC", "tags.success = 'no'", "tags.kept = 'kept'"
ASKED = {
    "newest": Asked("", "", "", NEWEST, ""),
    "filtered": Asked(
        "success=no&kept=kept", "success=0&kept=kept", f"{NO} AND {KEPT}", NEWEST, "tag=success%3Dno&tag=kept%3Dkept"
    ),
    "sorted": Asked("sort=-tokens", "sort=-tokens", "", "execution_time DESC", "sort=duration&dir=desc"),
    "common_word": Asked("q=hole", "q=hole", "trace.text ILIKE '%hole%'", NEWEST, "q=hole"),
    "rare_word": Asked("q=needle", "q=needle", "trace.text ILIKE '%needle%'", NEWEST, "q=needle"),
    "word_and_filter": Asked(
        "q=needle&success=no", "q=needle&success=0", f"trace.text ILIKE '%needle%' AND {NO}", NEWEST,
        "q=needle&tag=success%3Dno",
    ),
}  # fmt: skip


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=50_000)
    parser.add_argument("--turns", type=int, default=7, help="times that each is measured, in turn")
    parser.add_argument("--trackers-python", default=str(TRACKERS_PYTHON), help="the interpreter that has MLflow")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch, database(False), contextlib.ExitStack() as stack:
        ours = stack.enter_context(starboard(Path(scratch), options.rows))
        theirs = stack.enter_context(mlflow(options.trackers_python, Path(scratch)))
        result: dict[str, Any] = {}
        for name in ASKED:
            requests = [partial(requested, tool, tool.requests[name]) for tool in (ours, theirs)]
            answers = [answer(tool, tool.requests[name]) for tool in (ours, theirs)]
            sizes = [round(len(text.encode()) / 1000) for text in answers]
            same_rows(name, *answers)
            result[f"{name}_request"] = compared(options.turns, *requests) | {"kilobytes": sizes}
        playwright = stack.enter_context(sync_playwright())
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=[*FLAGS, LOOPBACK])
        contexts = [(new_context(browser, tool), tool) for tool in (ours, theirs)]
        for name in ASKED:
            pages = [partial(drawn, context, tool.views[name]) for context, tool in contexts]
            result[f"{name}_page"] = compared(options.turns, *pages)
        browser.close()
    sys.stdout.write(json.dumps({"benchmark": "trajectories_against_mlflow", "rows": options.rows, **result}) + "\n")
    return 0


@contextlib.contextmanager
def starboard(scratch: Path, rows: int) -> Iterator[Tool]:
    """Our site as `make run` serves it, without worker and Redis. Writes the trajectories to a file for MLflow."""
    port = free_port()
    os.environ |= {"PORT": str(port), "STARBOARD_API_READS_PER_MINUTE": "1000000"}
    prepare_site(scratch)
    run = fill("bench", rows)
    analyze()
    with (scratch / "trajectories.jsonl").open("w") as lines:
        lines.writelines(json.dumps(row) + "\n" for row in as_rows(run))
    origin, cookie, token = f"http://127.0.0.1:{port}", session(), a_token()
    address, rows_of_the_page = f"/runs/{run.pk}/trajectories/", "tbody tr:has(a[data-opens])"
    requests = {
        name: Request(
            f"/api/v1/runs/{run.pk}/trajectories?limit={ROWS}&preview=1&{asked.api}",
            lambda text: len(json.loads(text)["trajectories"]),
            at_most=ROWS,
        )
        for name, asked in ASKED.items()
    }
    views = {name: View(f"{address}?{asked.page}", rows_of_the_page, ROWS_IN_VIEW) for name, asked in ASKED.items()}
    headers = {"Authorization": f"Bearer {token}", "Cookie": f"{cookie['name']}={cookie['value']}"}
    with process([sys.executable, "-m", "workers.launch.web"], f"{origin}/healthz", environment={}):
        yield Tool(origin, requests, views, headers, [{**cookie, "url": origin}])


def same_rows(name: str, ours: str, theirs: str) -> None:
    """`SystemExit` unless both answers have the same trajectories in the same order, by `numbers`; where many are
    equal in what a list is sorted by, by that."""
    if name == "sorted":
        found = [row["response_tokens"] for row in json.loads(ours)["trajectories"]], durations(theirs)
    else:
        found = numbers(ours), numbers(theirs)
    if found[0] != found[1]:
        raise SystemExit(f"{name}: the rows differ, ours are {found[0][:5]} …, MLflow's {found[1][:5]} …")


def numbers(text: str) -> list[int]:
    """How many rows each is behind the first of the answer, in the order in which they were recorded."""
    found = json.loads(text)
    rows = [row["id"] for row in found.get("trajectories", [])]
    rows += [int(row["trace_id"].removeprefix("tr-"), 16) for row in found.get("traces", [])]
    return [rows[0] - row for row in rows]


def durations(text: str) -> list[int]:
    """MLflow's durations in milliseconds, which are the tokens of a trajectory: `0.399s` is 399."""
    return [round(1000 * float(row["execution_duration"].removesuffix("s"))) for row in json.loads(text)["traces"]]


def as_rows(run: Any) -> Iterator[dict[str, Any]]:
    from webapp.trajectories.models import TrajectoryText

    texts = TrajectoryText.objects.filter(run=run).select_related("trajectory").order_by("trajectory_id")
    for number, one in enumerate(texts.iterator(500)):
        row = one.trajectory
        yield {
            "id": f"tr-{number:032x}", "time": 1_750_000_000_000 + number, "tokens": row.response_tokens,
            "text": one.thoughts + one.actions,
            "tags": {
                "success": "yes" if row.success else "no", "kept": "kept" if row.kept else "left_out",
                "step": str(row.step), "group": str(row.group),
            },
        }  # fmt: skip


@contextlib.contextmanager
def mlflow(python: str, scratch: Path) -> Iterator[Tool]:
    (experiment,) = filled(python, "benchmarks.mlflow_traces", scratch / "trajectories.jsonl")
    location = {"type": "MLFLOW_EXPERIMENT", "mlflow_experiment": {"experiment_id": experiment}}
    requests = {
        name: Request(
            "/ajax-api/3.0/mlflow/traces/search",
            lambda text: len(json.loads(text).get("traces", [])),
            {"locations": [location], "filter": asked.words, "max_results": ROWS, "order_by": [asked.order]},
            at_most=ROWS,
        )
        for name, asked in ASKED.items()
    }
    address = f"/#/experiments/{experiment}/traces?startTimeLabel=ALL&pageSize={ROWS}"
    views = {
        name: View(f"{address}&{asked.their_page}", "[role=row]", ROWS_IN_VIEW + 1) for name, asked in ASKED.items()
    }
    with served(python, scratch) as origin:
        yield Tool(origin, requests, views, {}, [])


if __name__ == "__main__":
    sys.exit(main())
