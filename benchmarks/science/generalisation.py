"""`python -m benchmarks.science.generalisation`: does training on FrozenLake help on lakes that it never trains on?

Trains the starter run for 60 steps with three seeds, as the first arm of `filter_mass`, and evaluates the model that
training starts from and each final checkpoint on `lakes.toml`. All play the
same problems. Writes `docs/findings/generalisation.json`; run directories and evaluations stay in `--runs`.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.science.__main__ import FINDINGS, ROOT
from benchmarks.science.catalogue import EXPERIMENTS
from benchmarks.science.runs import directory_of, train_all
from benchmarks.science.table import interval_text

SUITE = Path(__file__).parent / "lakes.toml"
RESULTS = FINDINGS / "generalisation.json"
START = "tiny"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=Path, default=ROOT / "var" / "science", help="folder of the run directories")
    parser.add_argument("--jobs", type=int, default=1, help="runs at a time; each takes one core")
    options = parser.parse_args()
    experiment = EXPERIMENTS["filter_mass"]
    [arm, *_] = experiment.arms
    configs = {seed: experiment.config(arm, seed) for seed in experiment.seeds}
    for config in train_all(configs.values(), options.runs, jobs=options.jobs):
        say(f"{directory_of(config, options.runs)} done")
    models = {None: START} | {seed: str(directory_of(config, options.runs)) for seed, config in configs.items()}
    results = [evaluated(seed, model, options.runs) for seed, model in models.items()]
    lines = ",\n".join(json.dumps(one) for one in results)
    RESULTS.write_text(f"[{lines}]\n")
    say(table(results))
    return 0


def evaluated(seed: int | None, model: str, root: Path) -> dict[str, Any]:
    """Successes of each item; of the model that training starts from the seed is None."""
    out = root / "lakes" / (START if seed is None else Path(model).name)
    command = [sys.executable, "-m", "engine", "evaluate", "--suite", str(SUITE), "--model", model, "--out", str(out)]
    subprocess.run([*command, "--threads", "1"], check=True)
    items = json.loads((out / "summary.json").read_text())["items"]
    return {"seed": seed, "items": {one["item"]: [one["successes"], one["scored"]] for one in items}}


def table(results: Sequence[dict[str, Any]]) -> str:
    """Gains are the mean over training seeds with a t interval."""
    [start] = [one["items"] for one in results if one["seed"] is None]
    trained = [one["items"] for one in results if one["seed"] is not None]
    lines = ["| lakes | before training | after | gain |", "|---|---|---|---|"]
    for name, before in start.items():
        after = [share(items[name]) for items in trained]
        gains = [one - share(before) for one in after]
        lines.append(f"| {name} | {share(before):.3f} | {sum(after) / len(after):.3f} | {interval_text(gains)} |")
    return "\n".join(lines)


def share(counts: Sequence[int]) -> float:
    successes, scored = counts
    return successes / scored


def say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
