"""How long the server takes for the list of runs and for the leaderboard, with 10,000 runs, each with an evaluation of
its own and one on a suite.

The rows are made up and saved in a new database: finished runs of eight presets, three environments and three seeds,
with twenty metrics each; a tenth are forks. Each page is requested through the whole site except the socket.

    python -m benchmarks.run_lists [--runs N] [--postgres]
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.databases import add_option, analyze, database, prepare_site, signed_in, vendor
from benchmarks.leaderboard_entries import fill_board
from engine.statistics.proportions import wilson

REPEATS = 7
PRESETS = ("Starter", "GRPO", "PPO", "DAPO", "RLOO", "StarPO", "StarPO-S", "Dr. GRPO")
TAGS = ("FrozenLake", "Sokoban", "Bandit")
SEEDS = 3
METRICS = [f"some/metric_{number}" for number in range(17)]
PAGES = {
    "runs": "/runs/",
    "runs_searched": "/runs/?q=otter",
    "runs_by_name": "/runs/?sort=name",
    "runs_by_held_out": "/runs/?sort=-held_out",
    "runs_by_best_metric": "/runs/?sort=-best:policy/entropy&columns=name,best:policy/entropy,last:reward/mean",
    "runs_last_page": "/runs/?page=200&sort=model",
    "runs_folded": "/runs/?as=configuration",
    "leaderboard_of_runs": "/leaderboard/runs/",
    "leaderboard": "/leaderboard/",
    "leaderboard_filtered": "/leaderboard/?q=otter+starter",
    "leaderboard_by_tokens": "/leaderboard/?sort=tokens&show=cost",
    "leaderboard_last_page": "/leaderboard/?page=180",
    "leaderboard_pinned": "/leaderboard/?baseline=5000&page=7",
    "leaderboard_cost_chart": "/leaderboard/?show=cost&against=hours",
    "leaderboard_by_configuration": "/leaderboard/?as=configuration",
    "leaderboard_by_configuration_by_tokens": "/leaderboard/?as=configuration&sort=tokens",
    "leaderboard_by_configuration_cost_chart": "/leaderboard/?as=configuration&against=hours",
    "leaderboard_api": "/api/v1/leaderboard/entries",
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=10_000)
    add_option(parser)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch, database(options.postgres):
        prepare_site(Path(scratch))
        milliseconds = measure(options.runs)
    result = {"database": vendor(), "runs": options.runs, "milliseconds": milliseconds}
    sys.stdout.write(json.dumps({"benchmark": "run_lists", **result}) + "\n")
    return 0


def measure(runs: int, *, repeats: int = REPEATS) -> dict[str, int]:
    """Of each page, in an empty database that is filled before."""
    fill(runs)
    analyze()
    return {name: page_milliseconds(address, repeats) for name, address in PAGES.items()}


def fill(count: int) -> None:
    from engine.config import RunConfig
    from webapp.evaluations.models import Evaluation
    from webapp.runs.models import ListedRun, MetricName, Run

    stream = random.Random(0)
    configs = {tag: RunConfig.model_validate({"environments": [{"tag": tag}]}).model_dump(mode="json") for tag in TAGS}
    tags = [stream.choice(TAGS) for _ in range(count)]
    runs = [
        Run(
            name=f"{stream.choice(('calm', 'eager'))}-{stream.choice(('otter', 'heron', 'lynx'))}-{number}",
            preset=stream.choice(PRESETS), state="finished", step=100, total_steps=100,
            config={**configs[tag], "seed": number % SEEDS, "steps": 100 + number // 9},
            metrics={"rollout/success": stream.random(), "policy/entropy": stream.random()},
        )
        for number, tag in enumerate(tags)
    ]  # fmt: skip
    for run, parent in zip(runs[9::10], runs[8::10], strict=True):  # every tenth is a fork of the one before it
        run.forked_from, run.fork_step, run.ancestor_steps = parent, 50, 50
    Run.objects.bulk_create(runs, 500)
    ListedRun.objects.bulk_create([ListedRun.of(run, []) for run in runs], 500)
    names = (*METRICS, "rollout/success", "policy/entropy", "reward/mean")
    MetricName.objects.bulk_create(
        (
            MetricName(run=run, name=name, last=stream.random(), lowest=0.0, highest=stream.random())
            for run in runs
            for name in names
        ),
        2000,
    )
    Evaluation.objects.bulk_create([evaluation(run, tag, stream) for run, tag in zip(runs, tags, strict=True)], 500)
    fill_board(runs)


def evaluation(run: Any, tag: str, stream: random.Random) -> Any:
    from webapp.evaluations.models import Evaluation

    solved, episodes = stream.randint(0, 512), 512
    low, high = wilson(solved, episodes)
    return Evaluation(
        run=run, step=100, time=0.0, environment=tag, episodes=episodes, successes=solved, success=solved / episodes,
        low=low, high=high, mean_return=solved / episodes, first_seed=10**9, temperature=1.0, final=True,
    )  # fmt: skip


def page_milliseconds(address: str, repeats: int) -> int:
    """The median time of a few requests, after one to warm up."""
    client, seconds = signed_in(), []
    for _ in range(repeats + 1):
        began = time.monotonic()
        answer = client.get(address)
        seconds.append(time.monotonic() - began)
        if answer.status_code != 200 or (b"<table" not in answer.content and b'"rows"' not in answer.content):
            raise SystemExit(f"{address} answered {answer.status_code} and no rows")
    return round(1000 * statistics.median(seconds[1:]))


if __name__ == "__main__":
    sys.exit(main())
