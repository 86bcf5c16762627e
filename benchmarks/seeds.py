"""A preset trained with several seeds: initial and final held-out success, as rows of a Markdown table.

    python -m benchmarks.seeds starter 1 2 3
    python -m benchmarks.seeds collapse 1 2 3 4 5 6 7 8 9 10 --keep DIR

Each seed is a process of its own, one after the other, as a user would start it. Intervals are 95% Wilson intervals.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from engine.diagnostics.recordings import collapse_of
from engine.event_lines import parse_event
from engine.events import AlertRaised, EvaluationCompleted, Event, RunFinished, StepCompleted
from engine.statistics.proportions import newcombe

CONFIGS = Path(__file__).parent.parent / "engine" / "configs"
HEADER = (
    "| seed | initial held-out success | final held-out success | significant difference | minutes | seconds per step "
    "| first alert | collapsed at |\n"
    "|---|---|---|---|---|---|---|---|"
)


@dataclass(frozen=True)
class Outcome:
    """A summary of one run's events."""

    seed: int
    evaluations: list[EvaluationCompleted]
    steps: list[StepCompleted]
    alerts: list[AlertRaised]
    minutes: float

    def row(self) -> str:
        before, after = self.evaluations[0], self.evaluations[-1]
        change = newcombe(after.successes, after.episodes, before.successes, before.episodes)
        seconds = self.steps[-1].seconds / len(self.steps)
        serious = next((a for a in self.alerts if a.severity in ("critical", "dead")), None)
        alert = f"step {serious.step}, {serious.rule}" if serious else "none"
        gone = self.collapsed_at()
        return (
            f"| {self.seed} | {interval(before)} | {interval(after)} | {'no' if change.contains(0.0) else 'yes'} "
            f"| {self.minutes:.1f} | {seconds:.2f} | {alert} | {f'step {gone}' if gone else 'no'} |"
        )

    def collapsed_at(self) -> int | None:
        """The first of the steps, at least 5, in which training success stayed below 5% to the end; else None."""
        return collapse_of([(step.step, step.metrics["rollout/success"]) for step in self.steps])


def interval(evaluation: EvaluationCompleted) -> str:
    return f"{evaluation.success:.3f} [{evaluation.low:.3f}, {evaluation.high:.3f}] of {evaluation.episodes}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("preset", choices=sorted(path.stem for path in CONFIGS.glob("*.toml")))
    parser.add_argument("seeds", type=int, nargs="+")
    parser.add_argument("--set", action="append", default=[], metavar="SECTION.KEY=VALUE", help="override one field")
    parser.add_argument("--keep", type=Path, help="keep the run directories here")
    options = parser.parse_args()
    print(HEADER, flush=True)
    with tempfile.TemporaryDirectory() as scratch:
        for seed in options.seeds:
            directory = (options.keep or Path(scratch)) / f"{options.preset}-{seed}"
            print(train(options.preset, seed, directory, options.set).row(), flush=True)
    return 0


def train(preset: str, seed: int, directory: Path, overrides: list[str]) -> Outcome:
    sets = [part for override in [f"seed={seed}", *overrides] for part in ("--set", override)]
    command = [sys.executable, "-m", "engine", "train", str(CONFIGS / f"{preset}.toml"), "--run-dir", str(directory)]
    subprocess.run([*command, "--quiet", *sets], check=True)
    return recorded(seed, directory)


def recorded(seed: int, directory: Path) -> Outcome:
    return outcome(seed, [parse_event(line) for line in (directory / "events.jsonl").read_bytes().splitlines()])


def outcome(seed: int, events: list[Event]) -> Outcome:
    if not isinstance(events[-1], RunFinished):
        raise SystemExit(f"seed {seed} did not finish; see its events")
    return Outcome(
        seed=seed,
        evaluations=[event for event in events if isinstance(event, EvaluationCompleted)],
        steps=[event for event in events if isinstance(event, StepCompleted)],
        alerts=[event for event in events if isinstance(event, AlertRaised)],
        minutes=(events[-1].time - events[0].time) / 60,
    )


if __name__ == "__main__":
    sys.exit(main())
