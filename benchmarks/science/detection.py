"""`python -m benchmarks.science.detection`: how well alert rules predict the collapses of the catalogue's runs.

Runs are grouped in families by what was changed, and no number is summed over families: a rule that detects a high
learning rate would look as if it predicted collapses. Each family is evaluated with the default limits, and with limits
chosen on all other families, which contain no run of its kind. Besides collapsed runs and runs that keep their success
there are degraded ones, which lost most of it or never had any: an alert there is neither a hit nor a false alarm, and
counted separately. Only runs that `benchmarks.science` has finished are read. Writes `docs/findings/detection.json`;
`python -m benchmarks.science.pages` writes the tables.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import fmean

from benchmarks.science.__main__ import FINDINGS, ROOT
from benchmarks.science.catalogue import EXPERIMENTS
from benchmarks.science.experiment import Experiment
from benchmarks.science.runs import directory_of, is_finished
from engine.config import DetectorsConfig, RunConfig
from engine.diagnostics.recordings import LOST, Recording, read_recording
from engine.diagnostics.scorecard import Score, choose, score

REVERSED, RAMP, FAST_LAKE, FAST_BANDIT, CALM = (
    "reversed bandit",
    "learning-rate ramp",
    "FrozenLake, 10 x rate",
    "bandit, 5 or 10 x rate",
    "starter rate",
)
# those whose runs rules and verdicts were studied on; later ones are left for testing them
STUDIED = (
    "filter_mass", "largest_or_smallest", "action_budget", "responses_per_prompt", "online_k",
    "format_without_thoughts", "rare_wins", "slip_rate", "gradient_by_reward_std", "stability_lake", "stability_bandit",
    "along_a_collapse",
)  # fmt: skip
FAMILIES = {"along_a_collapse": RAMP, "stability_lake": FAST_LAKE, "stability_bandit": FAST_BANDIT}
LAST = 5  # steps over which success is averaged


@dataclass(frozen=True, slots=True)
class Family:
    clear: list[Recording]  # collapsed, or kept its success
    degraded: list[Recording]

    @property
    def collapsed(self) -> int:
        return sum(one.collapsed_at is not None for one in self.clear)


@dataclass(frozen=True, slots=True)
class Outcome:
    """One rule on one family."""

    clear: Score
    warned: int  # degraded runs with an alert
    degraded: int = 0

    @property
    def fired(self) -> bool:
        return bool(self.clear.hits or self.clear.late or self.clear.false_alarms or self.warned)


Outcomes = dict[str, list[Outcome]]  # by family, in the order of the rules


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=Path, default=ROOT / "var" / "science", help="folder of the run directories")
    options = parser.parse_args()
    families = by_family(options.runs)
    rules = DetectorsConfig()
    ships = {name: evaluate(rules, family) for name, family in families.items()}
    chosen = {name: evaluate(choose(rules, elsewhere(families, name)), family) for name, family in families.items()}
    FINDINGS.joinpath("detection.json").write_text(as_json(families, ships, chosen))
    say(f"{sum(len(family.clear) + len(family.degraded) for family in families.values())} runs")
    return 0


def evaluate(rules: DetectorsConfig, family: Family) -> list[Outcome]:
    scores = zip(score(rules, family.clear), score(rules, family.degraded), strict=True)
    return [Outcome(clear, degraded.false_alarms, degraded.healthy) for clear, degraded in scores]


def is_degraded(recording: Recording) -> bool:
    """Not collapsed, but its last five steps have less than half the success of its best five, or none ever was."""
    successes = [metrics["rollout/success"] for _, metrics in recording.steps]
    means = [fmean(successes[end - LAST : end]) for end in range(LAST, len(successes) + 1)]
    return recording.collapsed_at is None and (max(successes) < LOST or means[-1] < max(means) / 2)


def by_family(root: Path) -> dict[str, Family]:
    """Every finished run once, whichever experiments share it."""
    found: dict[str, Family] = {}
    seen: set[Path] = set()
    for experiment, config in _all_runs():
        directory = directory_of(config, root)
        if directory not in seen and is_finished(directory):
            seen.add(directory)
            family = found.setdefault(family_of(experiment, config), Family([], []))
            recording = read_recording(directory)
            (family.degraded if is_degraded(recording) else family.clear).append(recording)
    return found


def _all_runs() -> Iterator[tuple[Experiment, RunConfig]]:
    for name in STUDIED:
        for _, _, config in EXPERIMENTS[name].runs():
            yield EXPERIMENTS[name], config


def family_of(experiment: Experiment, config: RunConfig) -> str:
    if config.environments[0].parameters.get("reversed"):
        return REVERSED
    return FAMILIES.get(experiment.name, CALM)


def elsewhere(families: dict[str, Family], name: str) -> list[Recording]:
    return [recording for other, family in families.items() if other != name for recording in family.clear]


def as_json(families: dict[str, Family], ships: Outcomes, chosen: Outcomes) -> str:
    """One line for each family, with the directory names of its runs, and one for each rule and family."""
    lines = [
        json.dumps(
            {
                "family": name,
                "collapsed_at": {one.name: one.collapsed_at for one in family.clear if one.collapsed_at is not None},
                "kept": [one.name for one in family.clear if one.collapsed_at is None],
                "degraded": [one.name for one in family.degraded],
            }
        )
        for name, family in families.items()
    ]
    lines += [
        json.dumps({"limits": limits, "family": name, **asdict(verdict)})
        for limits, outcomes in (("ships", ships), ("chosen", chosen))
        for name, of_rules in outcomes.items()
        for verdict in of_rules
    ]
    between = ",\n"
    return f"[{between.join(lines)}]\n"


def say(text: str) -> None:
    sys.stdout.write(f"{text}\n")


if __name__ == "__main__":
    sys.exit(main())
