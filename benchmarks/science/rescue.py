"""`python -m benchmarks.science.rescue`: how many runs that are about to collapse does a rescue bring back?

Each run is ended by its first critical alert and continued twice from the last checkpoint before the first sign: with
the settings that `engine.rescue` changes, and with those it had. Both have the same number of steps and another seed.
Results go to `docs/findings/rescue.json`; run directories stay in `--runs`, so that an interrupted experiment resumes.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.science.runs import directory_of, train_all
from engine.config import RunConfig, build_config
from engine.diagnostics.recordings import read_events, read_recording
from engine.events import AlertRaised, EvaluationCompleted, RunFinished
from engine.rescue import remedies, signs_of, with_remedies
from engine.statistics.proportions import newcombe, wilson

ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / "docs" / "findings" / "rescue.json"
SEEDS = (1, 2, 3, 4)
STEPS, CONTINUED = 40, 30
OPTIMIZER = {"learning_rate": 2e-4, "updates_per_step": 2}
CAUSES: dict[str, dict[str, Any]] = {
    "learning rate 2e-3": {"optimizer": {**OPTIMIZER, "learning_rate": 2e-3}},
    "learning rate that rises to 1e-2": {"optimizer": {**OPTIMIZER, "learning_rate": 1e-2, "warmup_steps": 25}},
    "8 updates, hardly clipped": {
        "optimizer": {**OPTIMIZER, "learning_rate": 8e-4, "updates_per_step": 8},
        "loss": {"clip_low": 1.0, "clip_high": 10.0, "dual_clip": 0.0},
    },
    "4 passes over each step": {"optimizer": {**OPTIMIZER, "learning_rate": 1e-3, "epochs": 4}},
    "entropy bonus 0.1": {"optimizer": {**OPTIMIZER, "learning_rate": 5e-4}, "loss": {"entropy_coefficient": 0.1}},
}
ARMS = ("rescue", "restart")


@dataclass(frozen=True, slots=True)
class Ended:
    """A run that its rules ended. `step` is the checkpoint to continue from; 0 is the model itself."""

    config: RunConfig
    directory: Path
    rule: str
    alerts: list[AlertRaised]
    before: int
    step: int


def parent(cause: str, seed: int) -> RunConfig:
    return build_config(
        {
            **CAUSES[cause],
            "seed": seed,
            "steps": STEPS,
            "threads": 1,
            "environments": [{"kind": "frozen_lake", "tag": "FrozenLake"}],
            "algorithm": {"type": "grpo"},
            "rollout": {"groups": 8, "group_size": 8},
            "diagnostics": {"every": 2},
            "evaluation": {"every": 0, "episodes": 256, "final_episodes": 256},
            "checkpoint": {"every": 2},
            "capture": {"every": 0},
            "detectors": {"critical_action": "fork", "dead_action": "fork"},
        }
    )


def ended(config: RunConfig, directory: Path) -> Ended | None:
    """None where no rule raised an alert."""
    events = read_events(directory)
    last = events[-1]
    if not isinstance(last, RunFinished) or last.fork_before is None:
        return None
    before = last.fork_before
    steps = [int(path.name.removeprefix("step_")) for path in (directory / "checkpoints").glob("step_*")]
    alerts = [event for event in events if isinstance(event, AlertRaised)]
    since = [alert for alert in alerts if alert.step >= before]
    return Ended(config, directory, last.rule, since, before, max((step for step in steps if step < before), default=0))


def continued(run: Ended, arm: str) -> RunConfig:
    start = {"run": run.directory.name, "step": run.step, "steps_before": run.step} if run.step else {}
    data = run.config.model_dump(mode="json")
    quiet = dict.fromkeys(("critical_action", "dead_action"), "notify")
    data |= {"seed": run.config.seed + 100, "steps": CONTINUED, "detectors": {**data["detectors"], **quiet}}
    data["model"]["start_from"] |= start
    config = build_config(data)
    if arm == "restart":
        return config
    return with_remedies(config, remedies(run.config, signs_of(run.alerts), start=run.step))


def result(cause: str, run: Ended, root: Path) -> dict[str, Any]:
    first = _evaluations(run.directory)[0]
    found: dict[str, Any] = {
        "cause": cause,
        "seed": run.config.seed,
        "ended_by": run.rule,
        "ended_at": read_events(run.directory)[-1].step,
        "first_sign": run.before,
        "from_step": run.step,
        "initial": first.successes,
        "episodes": first.episodes,
    }
    for arm in ARMS:
        directory = directory_of(continued(run, arm), root)
        last = _evaluations(directory)[-1]
        collapsed = read_recording(directory).collapsed_at
        found[arm] = {"successes": last.successes, "episodes": last.episodes, "collapsed_at": collapsed}
    return found


def _evaluations(directory: Path) -> list[EvaluationCompleted]:
    return [event for event in read_events(directory) if isinstance(event, EvaluationCompleted)]


def table(results: list[dict[str, Any]]) -> str:
    lines = ["| continued with | runs | above their start | significantly | collapsed | mean held-out success |"]
    lines.append("|---|---|---|---|---|---|")
    for arm, title in (("rescue", "the changed settings"), ("restart", "the same settings")):
        above = sum(one[arm]["successes"] / one[arm]["episodes"] > one["initial"] / one["episodes"] for one in results)
        clearly = sum(_change(one, arm).low > 0 for one in results)
        collapsed = sum(one[arm]["collapsed_at"] is not None for one in results)
        mean = sum(one[arm]["successes"] / one[arm]["episodes"] for one in results) / len(results)
        share = wilson(above, len(results))
        lines.append(
            f"| {title} | {len(results)} | {above} [{share.low:.2f}, {share.high:.2f}] | {clearly} | {collapsed} "
            f"| {mean:.3f} |"
        )
    counts = [
        sum(one[arm]["successes"] / one[arm]["episodes"] > one["initial"] / one["episodes"] for one in results)
        for arm in ARMS
    ]
    gain = newcombe(counts[0], len(results), counts[1], len(results))
    lines.append(f"\nDifference of the shares above their start: {gain.low:+.2f} to {gain.high:+.2f} (Newcombe, 95%).")
    return "\n".join(lines)


def causes_table(results: list[dict[str, Any]]) -> str:
    """Held-out success of each seed's two continuations, by the cause of its collapse."""
    lines = ["| cause | changed settings | same settings |", "|---|---|---|"]
    for cause in dict.fromkeys(one["cause"] for one in results):
        of_cause = sorted((one for one in results if one["cause"] == cause), key=lambda one: int(one["seed"]))
        cells = [", ".join(f"{one[arm]['successes'] / one[arm]['episodes']:.3f}" for one in of_cause) for arm in ARMS]
        lines.append(f"| {cause} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _change(one: dict[str, Any], arm: str) -> Any:
    after = one[arm]
    return newcombe(after["successes"], after["episodes"], one["initial"], one["episodes"])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=Path, default=ROOT / "var" / "science")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    options = parser.parse_args()
    configs = {(cause, seed): parent(cause, seed) for cause in CAUSES for seed in SEEDS}
    for config in train_all(configs.values(), options.runs, jobs=options.jobs):
        _say(f"{directory_of(config, options.runs).name} ended")
    runs = {key: ended(config, directory_of(config, options.runs)) for key, config in configs.items()}
    alarmed = {key: run for key, run in runs.items() if run is not None}
    _say(f"{len(alarmed)} of {len(runs)} were ended by a rule")
    forks = [continued(run, arm) for run in alarmed.values() for arm in ARMS]
    for config in train_all(forks, options.runs, jobs=options.jobs):
        _say(f"{directory_of(config, options.runs).name} done")
    results = [result(cause, run, options.runs) for (cause, _), run in alarmed.items()]
    RESULTS.write_text(json.dumps(results, indent=1) + "\n")
    _say(table(results))
    return 0


def _say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
