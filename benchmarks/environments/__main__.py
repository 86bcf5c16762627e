"""Steps, resets and new problems per second of every environment, next to other libraries that do the same work.

Ours and theirs take turns, `--rounds` times, each for `--seconds` of processor time and with seeds that neither has
seen. A ratio is the median of the rounds' ratios, with the lowest and the highest; above 1 ours is faster. gymnasium is
measured under our interpreter. The other libraries need one of their own, as they need other versions than we do:

    make setup-games
    python -m benchmarks.environments [--rounds N] [--seconds S] [--games-python PATH] [--write DOCUMENT]

`--write docs/environments/speed.md` replaces the tables there.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.environments.cases import PROBLEMS, STEPS, Pair, our_examples
from benchmarks.environments.report import write_tables
from benchmarks.environments.worker import ROOT, Worker, worker

GAMES_PYTHON = ROOT / ".venv-games" / "bin" / "python"
SEEDS_PER_ROUND = 1_000_000
RATES = ("steps", "resets", "with_resets")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5, help="times that each is measured, in turn")
    parser.add_argument("--seconds", type=float, default=0.5, help="processor time of a measurement")
    parser.add_argument("--games-python", default=str(GAMES_PYTHON), help="the interpreter with the other libraries")
    parser.add_argument("--write", type=Path, help="the document whose tables to replace")
    options = parser.parse_args()
    theirs = options.games_python if Path(options.games_python).exists() else None
    with worker(sys.executable) as here:
        result: dict[str, Any] = {"benchmark": "environments", "rounds": options.rounds}
        result["examples"] = examples(here, rounds=options.rounds, seconds=options.seconds)
        if theirs is None:
            pairs_of(result, here, here, options, only_here=True)
        else:
            with worker(theirs) as there:
                pairs_of(result, here, there, options, only_here=False)
    sys.stdout.write(json.dumps(result) + "\n")
    if options.write:
        write_tables(options.write, result)
    return 0


def examples(here: Worker, *, rounds: int, seconds: float) -> dict[str, dict[str, float]]:
    """The median rates of the default example of each kind."""
    found: dict[str, dict[str, float]] = {}
    for kind in our_examples():
        measured = [
            here.measure(suite="examples", index=kind, side="ours", seconds=seconds, first_seed=n * SEEDS_PER_ROUND)
            for n in range(rounds)
        ]
        found[kind] = {rate: round(median(one[rate] for one in measured)) for rate in RATES}
    return found


def pairs_of(
    result: dict[str, Any], here: Worker, there: Worker, options: argparse.Namespace, *, only_here: bool
) -> None:
    for suite, pairs, rates in (("steps", STEPS, RATES), ("problems", PROBLEMS, ("problems",))):
        result[suite] = [
            {"name": pair.name, "library": pair.library, "more": pair.more}
            | compared(suite, index, pair, here, there, rates, rounds=options.rounds, seconds=options.seconds)
            for index, pair in enumerate(pairs)
            if pair.theirs_here or not only_here
        ]


def compared(
    suite: str,
    index: int,
    pair: Pair,
    here: Worker,
    there: Worker,
    rates: tuple[str, ...],
    *,
    rounds: int,
    seconds: float,
) -> dict[str, dict[str, float]]:
    """By rate: the medians of both sides, and the ratios of the rounds."""
    sides: dict[str, list[dict[str, float]]] = {"ours": [], "theirs": []}
    for turn in range(rounds):
        for side, process in (("ours", here), ("theirs", here if pair.theirs_here else there)):
            sides[side].append(
                process.measure(suite=suite, index=index, side=side, seconds=seconds, first_seed=turn * SEEDS_PER_ROUND)
            )
    return {
        rate: summary([one[rate] for one in sides["ours"]], [one[rate] for one in sides["theirs"]]) for rate in rates
    }


def summary(ours: list[float], theirs: list[float]) -> dict[str, float]:
    ratios = [a / b for a, b in zip(ours, theirs, strict=True)]
    return {
        "ours": significant(median(ours)),
        "theirs": significant(median(theirs)),
        "ratio": significant(median(ratios)),
        "lowest": significant(min(ratios)),
        "highest": significant(max(ratios)),
    }


def significant(value: float) -> float:
    """Three significant digits."""
    return float(f"{value:.3g}")


if __name__ == "__main__":
    sys.exit(main())
