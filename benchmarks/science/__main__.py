"""`python -m benchmarks.science NAME …`: trains an experiment, keeps its results, draws its curves, prints its table.

Results go to `docs/findings/NAME.json` and `.svg`; run directories stay in `--runs` (default `var/science`), so that a
sweep that was cut off goes on where it stopped. `--list` says what there is. All of it takes about five hours of two
cores.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from benchmarks.science.catalogue import EXPERIMENTS
from benchmarks.science.measure import measure
from benchmarks.science.plot import plot
from benchmarks.science.runs import train_all
from benchmarks.science.table import table

ROOT = Path(__file__).resolve().parents[2]
FINDINGS = ROOT / "docs" / "findings"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", choices=[*EXPERIMENTS, []], metavar="NAME", help=", ".join(EXPERIMENTS))
    parser.add_argument("--runs", type=Path, default=ROOT / "var" / "science", help="where run directories stay")
    parser.add_argument("--list", action="store_true", help="say what each experiment asks")
    options = parser.parse_args()
    for name in options.names or EXPERIMENTS:
        if options.list:
            sys.stdout.write(f"{name}: {EXPERIMENTS[name].question}\n")
        else:
            run(name, options.runs)
    return 0


def run(name: str, place: Path) -> None:
    experiment = EXPERIMENTS[name]
    results = []
    for arm, seed, directory in train_all(experiment, place):
        results.append(measure(experiment, arm, seed, directory))
        sys.stdout.write(f"{name}: {arm.label}, seed {seed} done\n")
        sys.stdout.flush()
    FINDINGS.mkdir(parents=True, exist_ok=True)
    lines = ",\n".join(json.dumps(result) for result in results)
    (FINDINGS / f"{name}.json").write_text(f"[{lines}]\n")
    plot(experiment, results, FINDINGS / f"{name}.svg")
    sys.stdout.write(f"\n{experiment.question}\n\n{table(results)}\n\n")


if __name__ == "__main__":
    sys.exit(main())
