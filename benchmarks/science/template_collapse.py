"""`python -m benchmarks.science.template_collapse [NAME]`: what the seeds of a sweep say once they are trained; it is
`template_collapse`, `entropy_and_chance` or `kl_against_chance`.

In how many of them thoughts stop depending on their prompts, what each filter changes seed by seed, and what the alert
rules say. Reads finished runs and prints tables. A run is collapsed by the definition of
`docs/findings/slow_collapse.md`, whether it took a hundred steps or fewer; it may lose its mutual information without
that, where thoughts vary less, success falls or the format breaks as well. Differences are to the first arm, over the
seeds that both have, with 95% t intervals; rates have Wilson intervals.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from benchmarks.science.__main__ import ROOT
from benchmarks.science.catalogue import EXPERIMENTS
from benchmarks.science.pilots import ENTROPY, MI, SUCCESS, TOKEN_ENTROPY, WELL_FORMED, Pilot, read_pilot
from benchmarks.science.runs import directory_of, is_finished
from engine.config import DetectorsConfig
from engine.diagnostics.recordings import read_recording, replay
from engine.statistics.intervals import Interval
from engine.statistics.means import t_interval, without_interval
from engine.statistics.proportions import wilson

SWEEPS = ("template_collapse", "entropy_and_chance", "kl_against_chance")
COLLAPSES = ("slow collapse", "fast collapse")
OF_SEEDS = {
    "MI / ln N": MI, "H(Z\\|X)": ENTROPY, "per token": TOKEN_ENTROPY, "success": SUCCESS,
    "well-formed": WELL_FORMED, "tokens": "rollout/response_tokens",
}  # fmt: skip
AT_END = {"MI / ln N": MI, "H(Z\\|X)": ENTROPY, "per token": TOKEN_ENTROPY, "success": SUCCESS}


@dataclass(frozen=True, slots=True)
class Judged:
    """One run, and the step of each rule's first alert."""

    pilot: Pilot
    alerts: Mapping[str, int]

    @property
    def lost_at(self) -> int | None:
        """The step from which mutual information stays below half of its start."""
        return self.pilot.lost_at

    @property
    def collapsed(self) -> bool:
        return self.pilot.outcome in COLLAPSES


Arms = Mapping[str, Mapping[int, Judged]]  # by label and seed


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("name", nargs="?", choices=SWEEPS, default=SWEEPS[0], help="the sweep (default: %(default)s)")
    parser.add_argument("--runs", type=Path, default=ROOT / "var" / "science", help="folder of the run directories")
    options = parser.parse_args()
    arms = judged(options.name, options.runs)
    tables = (
        arms_table(arms), outcomes_table(arms), seeds_table(arms), differences_table(arms), alerts_table(arms),
    )  # fmt: skip
    sys.stdout.write("\n\n".join(tables) + "\n")
    return 0


def judged(name: str, root: Path) -> dict[str, dict[int, Judged]]:
    experiment = EXPERIMENTS[name]
    found: dict[str, dict[int, Judged]] = {arm.label: {} for arm in experiment.arms}
    for arm, seed, config in experiment.runs():
        directory = directory_of(config, root)
        if is_finished(directory):
            found[arm.label][seed] = judge(directory)
    return found


def judge(directory: Path) -> Judged:
    alerts: dict[str, int] = {}
    for firing in replay(read_recording(directory), DetectorsConfig()):
        alerts.setdefault(firing.alert.rule, firing.step)
    return Judged(read_pilot(directory), alerts)


def arms_table(arms: Arms) -> str:
    columns = ("arm", "seeds", "MI lost", "median step", "collapsed", *AT_END)
    lines = [f"| {' | '.join(columns)} |", "|---" * len(columns) + "|"]
    for label, runs in arms.items():
        steps = [one.lost_at for one in runs.values() if one.lost_at is not None]
        ends = [[one.pilot.after(metric) for one in runs.values()] for metric in AT_END.values()]
        collapsed = rate(sum(one.collapsed for one in runs.values()), len(runs))
        lost = [rate(len(steps), len(runs)), median(steps) if steps else "–"]
        cells = [label, len(runs), *lost, collapsed, *map(mean, ends)]
        lines.append(f"| {' | '.join(map(str, cells))} |")
    return "\n".join(lines)


def outcomes_table(arms: Arms) -> str:
    """How many seeds of each arm end as what, by the definition of `docs/findings/slow_collapse.md`."""
    counts = {label: Counter(one.pilot.outcome for one in runs.values()) for label, runs in arms.items()}
    found = sorted({outcome for of in counts.values() for outcome in of})
    lines = [f"| {' | '.join(['arm', *found])} |", "|---" * (1 + len(found)) + "|"]
    for label, of in counts.items():
        lines.append(f"| {' | '.join([label, *(str(of[outcome]) for outcome in found)])} |")
    return "\n".join(lines)


def seeds_table(arms: Arms) -> str:
    """Of each run what was at its start and at its end."""
    lines = [
        f"| {' | '.join(['arm', 'seed', 'outcome', 'MI lost at', *OF_SEEDS])} |",
        "|---" * (4 + len(OF_SEEDS)) + "|",
    ]
    for label, runs in arms.items():
        for seed, one in runs.items():
            pilot = one.pilot
            changes = [f"{pilot.before(metric):.3g} → {pilot.after(metric):.3g}" for metric in OF_SEEDS.values()]
            lines.append(f"| {' | '.join([label, str(seed), pilot.outcome, str(pilot.lost_at or '–'), *changes])} |")
    return "\n".join(lines)


def differences_table(arms: Arms) -> str:
    """Of the ends, each arm less the first one of the same seed."""
    first, *others = arms.items()
    lines = [f"| less {first[0]} | seeds | {' | '.join(AT_END)} |", "|---" * (2 + len(AT_END)) + "|"]
    for label, runs in others:
        shared = sorted(runs.keys() & first[1].keys())
        ends = [
            [runs[seed].pilot.after(metric) - first[1][seed].pilot.after(metric) for seed in shared]
            for metric in AT_END.values()
        ]
        lines.append(f"| {label} | {len(shared)} | {' | '.join(map(mean, ends))} |")
    return "\n".join(lines)


def alerts_table(arms: Arms) -> str:
    """Rules that fired at all. A hit fires before the step from which mutual information was lost."""
    runs = [one for of in arms.values() for one in of.values()]
    lost = [one for one in runs if one.lost_at is not None]
    rules = sorted({rule for one in runs for rule in one.alerts})
    lines = ["| rule | hits | median lead | at or after it | in runs that kept it |", "|---|---|---|---|---|"]
    for rule in rules:
        leads = [one.lost_at - one.alerts[rule] for one in lost if one.lost_at is not None and rule in one.alerts]
        hits = [lead for lead in leads if lead > 0]
        false = sum(rule in one.alerts for one in runs if one.lost_at is None)
        cells = [rule, rate(len(hits), len(lost)), median(hits) if hits else "–", len(leads) - len(hits)]
        lines.append(f"| {' | '.join(map(str, cells))} | {rate(false, len(runs) - len(lost))} |")
    return "\n".join(lines)


def rate(count: int, total: int) -> str:
    return f"{count}/{total} {ends_of(wilson(count, total))}" if total else "–"


def mean(values: Sequence[float]) -> str:
    if not values:
        return "–"
    interval = t_interval(values)
    text = f"{sum(values) / len(values):.3f}"
    if interval:
        return f"{text} {ends_of(interval)}"
    return f"{text} ({without_interval(len(values), 'seed')})" if len(values) > 1 else text


def ends_of(interval: Interval) -> str:
    return f"[{interval.low:.2f}, {interval.high:.2f}]"


if __name__ == "__main__":
    sys.exit(main())
