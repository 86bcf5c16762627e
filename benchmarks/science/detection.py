"""`python -m benchmarks.science.detection`: how well alert rules predict the collapses of the catalogue's runs.

Runs are grouped in families by what was changed. Each family is evaluated with the default limits, and with limits
chosen on all other families, which contain no run of its kind. Besides collapsed runs and runs that keep their success
there are degraded ones, which lost most of it or never had any: an alert there is neither a hit nor a false alarm, and
counted separately. Only runs that `benchmarks.science` has finished are read. Writes `docs/findings/detection.json` and
prints tables.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import fmean

from benchmarks.science.__main__ import FINDINGS, ROOT
from benchmarks.science.catalogue import EXPERIMENTS
from benchmarks.science.experiment import Arm, Experiment
from benchmarks.science.runs import directory_of, is_finished
from engine.config import DetectorsConfig, RunConfig
from engine.diagnostics.recordings import LOST, Recording, read_recording
from engine.diagnostics.scorecard import Score, choose, score
from engine.statistics.proportions import wilson

REVERSED, RAMP, FAST_LAKE, FAST_BANDIT, CALM = (
    "reversed bandit",
    "learning-rate ramp",
    "FrozenLake, 10 x rate",
    "bandit, 5 or 10 x rate",
    "starter rate",
)
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
    degraded = sum(len(family.degraded) for family in families.values())
    say(f"{runs_table(families)}\n\nDefault limits:\n\n{rules_table(ships, degraded)}")
    say(f"\nLimits chosen on all other families:\n\n{rules_table(chosen, degraded)}")
    return 0


def evaluate(rules: DetectorsConfig, family: Family) -> list[Outcome]:
    scores = zip(score(rules, family.clear), score(rules, family.degraded), strict=True)
    return [Outcome(clear, degraded.false_alarms) for clear, degraded in scores]


def is_degraded(recording: Recording) -> bool:
    """Not collapsed, but its last five steps have less than half the success of its best five, or none ever was."""
    successes = [metrics["rollout/success"] for _, metrics in recording.steps]
    means = [fmean(successes[end - LAST : end]) for end in range(LAST, len(successes) + 1)]
    return recording.collapsed_at is None and (max(successes) < LOST or means[-1] < max(means) / 2)


def by_family(root: Path) -> dict[str, Family]:
    """Every finished run once, whichever experiments share it."""
    found: dict[str, Family] = {}
    seen: set[Path] = set()
    for experiment, arm, config in _all_runs():
        directory = directory_of(config, root)
        if directory not in seen and is_finished(directory):
            seen.add(directory)
            family = found.setdefault(family_of(experiment, arm), Family([], []))
            recording = read_recording(directory)
            (family.degraded if is_degraded(recording) else family.clear).append(recording)
    return found


def _all_runs() -> Iterator[tuple[Experiment, Arm, RunConfig]]:
    for experiment in EXPERIMENTS.values():
        for arm, _, config in experiment.runs():
            yield experiment, arm, config


def family_of(experiment: Experiment, arm: Arm) -> str:
    if any("reversed=true" in change for change in (*experiment.changes, *arm.changes)):
        return REVERSED
    return FAMILIES.get(experiment.name, CALM)


def elsewhere(families: dict[str, Family], name: str) -> list[Recording]:
    return [recording for other, family in families.items() if other != name for recording in family.clear]


def runs_table(families: dict[str, Family]) -> str:
    lines = ["| family | runs | collapsed | degraded |", "|---|---|---|---|"]
    for name, family in families.items():
        count = len(family.clear) + len(family.degraded)
        lines.append(f"| {name} | {count} | {family.collapsed} | {len(family.degraded)} |")
    return "\n".join(lines)


def rules_table(outcomes: Outcomes, degraded: int) -> str:
    """One row per rule: hits in each family with collapses, then over all families."""
    with_collapses = [name for name, of_rules in outcomes.items() if of_rules[0].clear.collapsed]
    columns = ("rule", *with_collapses, "all hits", "median lead", "late", "false alarms", "degraded, alerted")
    lines = [f"| {' | '.join(columns)} |", "|---" * len(columns) + "|"]
    for index in by_hits(outcomes):
        rows = {name: of_rules[index] for name, of_rules in outcomes.items()}
        scores = [one.clear for one in rows.values()]
        leads = [lead for one in scores for lead in one.leads]
        cells = [f"{rows[name].clear.hits}/{rows[name].clear.collapsed}" for name in with_collapses]
        cells += [
            share(len(leads), sum(one.collapsed for one in scores)),
            f"{statistics.median(leads):g}" if leads else "–",
            str(sum(one.late for one in scores)),
            share(sum(one.false_alarms for one in scores), sum(one.healthy for one in scores)),
            f"{sum(one.warned for one in rows.values())}/{degraded}",
        ]
        lines.append(f"| {scores[0].rule} | {' | '.join(cells)} |")
    return "\n".join(lines)


def by_hits(outcomes: Outcomes) -> list[int]:
    """Indices of the rules, those with most hits first."""
    count = len(next(iter(outcomes.values())))
    return sorted(range(count), key=lambda index: -sum(of[index].clear.hits for of in outcomes.values()))


def share(part: int, whole: int) -> str:
    """The fraction with its 95% Wilson interval."""
    low, high = wilson(part, whole)
    return f"{part}/{whole} [{low:.2f}, {high:.2f}]"


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
