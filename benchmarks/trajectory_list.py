"""How long the server takes for a page of trajectories: of a run's 50,000, and of all 100,000 over many runs.

Generated rows and texts are saved in a new database: one run with half of them, and 25 runs that share the rest. Each
page, filtered, sorted or searched, is requested through the whole site except the socket, and so are the API's lists of
the run and the counts that its page asks for later; the slowest page counts.

    python -m benchmarks.trajectory_list [--rows N] [--repeats N] [--postgres]
"""

from __future__ import annotations

import argparse
import json
import random
import re
import statistics
import sys
import tempfile
import time
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.databases import add_option, analyze, database, prepare_site, signed_in, vendor

SIGNS = (b"trajectory-table", b"trajectory-counts", b'"response_tokens"')  # of rows, or of their counts
GROUP, STEP, REPEATS, OTHERS = 8, 128, 7, 25
SENTENCE = "the player goal hole ice is near far left right up down row column so then go on past free way from here"
WORDS = re.findall(r"\w+", SENTENCE)
PAGES = {
    "newest": "",
    "filtered": "success=no&kept=kept&adv_low=-0.5&tokens_high=160",
    "of_an_alert": "alert=entropy&split=train",
    "by_advantage": "sort=-advantage&parse=ok",
    "common_word": "q=hole",
    "rare_word": "q=needle",
    "phrase_sorted": "q=%22the+hole%22+goal&sort=return",
    "words_and_filters": "q=lef*+goal&success=yes&low=0.5",
}
LISTS = {  # of the API
    "newest": "preview=1",
    "filtered": "success=0&kept=kept&preview=1",
    "sorted": "sort=-tokens&preview=1",
    "common_word": "q=hole&preview=1",
    "rare_word": "q=needle&preview=1",
    "word_and_filter": "q=needle&success=0&preview=1",
    "sorted_word": "q=hole&sort=return&preview=1",
    "of_a_step": "step=4&sort=-advantage&preview=1",
}
PAGES_OF_ALL = PAGES | {
    "by_group_std": "sort=group_std",
    "by_kept": "sort=-kept",
    "of_some_runs": "run=other-1,other-2,other-3&sort=-return",
    "of_an_environment": "environment=FrozenLake&sort=-advantage",
    "of_a_fault": "parse=cut_off&sort=-tokens",
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=50_000)
    parser.add_argument("--repeats", type=int, default=REPEATS, help="requests for each page")
    add_option(parser)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch, database(options.postgres):
        prepare_site(Path(scratch))
        run = fill("bench", options.rows)
        for number in range(OTHERS):
            fill(f"other-{number}", options.rows // OTHERS)
        analyze()
        ask = partial(page_milliseconds, options.repeats)
        milliseconds = {name: ask(f"/runs/{run.pk}", query) for name, query in PAGES.items()}
        milliseconds |= {
            f"counts_{name}": ask(f"/runs/{run.pk}", PAGES[name], "counts/") for name in ("newest", "common_word")
        }
        milliseconds |= {f"api_{name}": ask(f"/api/v1/runs/{run.pk}", query) for name, query in LISTS.items()}
        milliseconds |= {f"all_{name}": ask("", query) for name, query in PAGES_OF_ALL.items()}
    worst = max(milliseconds, key=lambda name: milliseconds[name])
    result = {"database": vendor(), "rows": options.rows, "milliseconds": milliseconds, "slowest": worst}
    sys.stdout.write(json.dumps({"benchmark": "trajectory_list", **result}) + "\n")
    return 0


def fill(name: str, count: int) -> Any:
    from webapp.runs.models import Alert, Run
    from webapp.trajectories.models import Trajectory, TrajectoryText

    stream = random.Random(name)
    run = Run.objects.create(name=name, config={}, total_steps=count // STEP)
    rows = Trajectory.objects.bulk_create([trajectory(run, number, stream) for number in range(count)], 1000)
    texts = [
        TrajectoryText(trajectory=row, run=run, thoughts=thoughts(stream), actions="\x1eLeft, Down") for row in rows
    ]
    TrajectoryText.objects.bulk_create(texts, 1000)
    for step in range(0, count // STEP, 9):
        Alert.objects.create(run=run, seq=step, step=step, time=0.0, rule="entropy", severity="warn", message="")
    return run


def trajectory(run: Any, number: int, stream: random.Random) -> Any:
    from webapp.trajectories.models import Trajectory

    solved, faulty = stream.random() < 0.4, stream.random() < 0.1
    return Trajectory(
        run=run, step=number // STEP, split="train", environment="FrozenLake", kind="frozen_lake",
        group=number % STEP // GROUP, member=number % GROUP, seed=number // GROUP, success=solved,
        episode_return=float(solved), score=float(solved), advantage=stream.gauss(0, 1), group_std=stream.random(),
        kept=stream.random() < 0.7, turns=stream.randint(1, 5), response_tokens=stream.randint(20, 400),
        parse_failures=int(faulty), faults=" cut_off " if faulty else "", stop="terminated",
        file=f"s{number // STEP}", offset=number, length=1,
    )  # fmt: skip


def thoughts(stream: random.Random) -> str:
    turns = [" ".join(stream.choices(WORDS, k=25)) for _ in range(3)]
    return "".join(f"\x1e{turn}" for turn in turns) + (" needle" if stream.random() < 0.001 else "")


def page_milliseconds(repeats: int, address: str, query: str, part: str = "") -> int:
    """The median time of a few requests for the list at `address`, or a part of it, after one to warm up."""
    client = signed_in()
    seconds = [_ask(client, f"{address}/trajectories/{part}?{query}") for _ in range(repeats + 1)]
    return round(1000 * statistics.median(seconds[1:]))


def _ask(client: Any, address: str) -> float:
    began = time.monotonic()
    answer = client.get(address)
    seconds = time.monotonic() - began
    if answer.status_code != 200 or not any(sign in answer.content for sign in SIGNS):
        raise SystemExit(f"{address} answered {answer.status_code} and no rows")
    return seconds


if __name__ == "__main__":
    sys.exit(main())
