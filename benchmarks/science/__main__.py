"""`python -m benchmarks.science NAME …`: trains experiments, stores their results, plots curves, prints tables.

Results go to `docs/findings/NAME.json` and `.svg`, and by `python -m benchmarks.science.pages` into the pages; run
directories stay in `--runs` (default `var/science`), so that an interrupted sweep resumes. An experiment is written as
soon as all its runs are finished. One of 12 runs takes about an hour on one core. `--list` shows the experiments;
`--redraw` trains nothing, and plots the stored results again.

Each is a sweep that ships: `--launch` trains it on a site, and `--sweep NUMBER` measures it from there.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path
from typing import Any

from benchmarks.science.catalogue import EXPERIMENTS
from benchmarks.science.experiment import Experiment
from benchmarks.science.measure import measure
from benchmarks.science.plot import plot
from benchmarks.science.runs import directory_of, is_finished, train_all
from benchmarks.science.table import means_table, table

ROOT = Path(__file__).resolve().parents[2]
FINDINGS = ROOT / "docs" / "findings"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", choices=[*EXPERIMENTS, []], metavar="NAME", help=", ".join(EXPERIMENTS))
    parser.add_argument("--runs", type=Path, default=ROOT / "var" / "science", help="folder of the run directories")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="runs at a time; each takes one core")
    parser.add_argument("--list", action="store_true", help="show the question of each experiment")
    parser.add_argument("--redraw", action="store_true", help="plot stored results again, train nothing")
    parser.add_argument("--launch", action="store_true", help="launch it as a sweep of the site of `starboard login`")
    parser.add_argument("--sweep", type=int, metavar="NUMBER", help="read the runs of this sweep of the site")
    options = parser.parse_args()
    wanted = [EXPERIMENTS[name] for name in options.names or EXPERIMENTS]
    if options.list:
        say("\n".join(map(described, wanted)))
    elif options.redraw:
        for experiment in filter(is_recorded, wanted):
            show(experiment, json.loads(results_file(experiment).read_text()))
    elif not options.names:
        parser.error(f"name the experiments to train, of {', '.join(EXPERIMENTS)}")
    elif options.launch or options.sweep is not None:
        on_the_site(parser, wanted, options)
    else:
        run(wanted, options.runs, jobs=options.jobs)
    return 0


def on_the_site(parser: argparse.ArgumentParser, wanted: list[Experiment], options: argparse.Namespace) -> None:
    if len(wanted) != 1:
        parser.error("--launch and --sweep take one experiment")
    try:
        from benchmarks.science import on_site
    except ModuleNotFoundError:
        parser.error("the client is not installed: uv pip install ./client")
    if options.launch:
        say(on_site.launch(wanted[0], jobs=options.jobs))
        return
    on_site.fetch(wanted[0], options.sweep, options.runs)
    if not is_done(wanted[0], options.runs):
        parser.error(f"sweep {options.sweep} has runs that have not finished")
    report(wanted[0], options.runs)


def run(wanted: list[Experiment], root: Path, *, jobs: int) -> None:
    waiting = list(wanted)
    configs = [config for experiment in wanted for _, _, config in experiment.runs()]
    for config in train_all(configs, root, jobs=jobs):
        say(f"{config.preset}, seed {config.seed}: {directory_of(config, root)} done")
        for experiment in [one for one in waiting if is_done(one, root)]:
            waiting.remove(experiment)
            report(experiment, root)


def is_done(experiment: Experiment, root: Path) -> bool:
    return all(is_finished(directory_of(config, root)) for _, _, config in experiment.runs())


def report(experiment: Experiment, root: Path) -> None:
    results = [measure(experiment, arm, seed, directory_of(config, root)) for arm, seed, config in experiment.runs()]
    FINDINGS.mkdir(parents=True, exist_ok=True)
    lines = ",\n".join(json.dumps(result) for result in results)
    results_file(experiment).write_text(f"[{lines}]\n")
    show(experiment, results)


def show(experiment: Experiment, results: list[dict[str, Any]]) -> None:
    plot(experiment, results, FINDINGS / f"{experiment.name}.svg")
    say(f"\n{experiment.question}\n\n{table(results)}\n\n{means_table(results)}\n")


def described(experiment: Experiment) -> str:
    count = len(experiment.arms) * len(experiment.seeds)
    state = "" if is_recorded(experiment) else ", not run yet"
    return f"{experiment.name} ({count} runs{state}): {experiment.question}"


def is_recorded(experiment: Experiment) -> bool:
    return results_file(experiment).exists()


def results_file(experiment: Experiment) -> Path:
    return FINDINGS / f"{experiment.name}.json"


def say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
