"""`python -m benchmarks.science.mi_and_success`: does mutual information go with success, in runs with it recorded?

Two questions that a single number over all runs would mix. Across the runs of one condition: is held-out success after
the last step higher where mutual information is? Along each run: is training success higher at steps with higher mutual
information? Two curves that both fall correlate whatever their cause, so changes from one measurement to the next are
correlated as well. Spearman's ρ; intervals are percentile bootstraps over runs.
"""

from __future__ import annotations

import json
import re
import statistics
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from benchmarks.science.__main__ import FINDINGS
from benchmarks.science.table import success
from engine.statistics.effect_of_settings import rank_correlation, spearman

MI, SUCCESS = "collapse/mi_ratio", "rollout/success"
LAST = 3  # measurements of mutual information that a final value is the mean of
CONDITIONS: Mapping[str, tuple[str, str]] = {  # experiment, and an expression for its arms
    "starter rate, no slip": ("slip_rate", "0%.*"),
    "starter rate, 20% slip": ("slip_rate", "20%.*"),
    "starter rate, 40% slip": ("slip_rate", "40%.*"),
    "entropy bonus, 0 to 0.1": ("entropy", ".*"),
    "KL penalty, 0.001 to 0.1": ("kl", "0[.].*"),  # its runs without a penalty are those without a bonus
    "5 x rate": ("kl_clip", ".*"),
    "10 x rate": ("stability_lake", ".*"),
    "learning-rate ramp": ("along_a_collapse", ".*"),
    "two moves, no slip": ("template_collapse", ".*, no slip"),
    "two moves, 67% slip": ("template_collapse", "all groups|0.9 .*"),
    "two moves, 67% slip, entropy bonus": ("entropy_and_chance", ".*"),
    "two moves, 67% slip, bonus and KL penalty": ("kl_against_chance", "KL penalty.*"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSummary:
    """`together` has mutual information and training success at each step at which both were measured."""

    final_mi: float
    final_success: float
    together: Sequence[tuple[float, float]]

    def along(self) -> float | None:
        return spearman([mi for mi, _ in self.together], [solved for _, solved in self.together])

    def of_changes(self) -> float | None:
        changes = [(after[0] - before[0], after[1] - before[1]) for before, after in pairwise(self.together)]
        return spearman([mi for mi, _ in changes], [solved for _, solved in changes])


def summaries(experiment: str, arms: str) -> list[RunSummary]:
    results = json.loads((FINDINGS / f"{experiment}.json").read_text())
    return [_summary(one) for one in results if re.fullmatch(arms, one["arm"])]


def _summary(result: dict[str, Any]) -> RunSummary:
    solved = dict(result["curves"][SUCCESS])
    measured = [(mi, solved[step]) for step, mi in result["curves"][MI] if step in solved]
    return RunSummary(
        final_mi=statistics.fmean(mi for mi, _ in measured[-LAST:]),
        final_success=success(result, final=True),
        together=measured,
    )


def table() -> str:
    columns = ("runs", "n", "final MI", "final success", "ρ across runs", "median ρ along a run", "of changes")
    lines = [f"| {' | '.join(columns)} |", "|---" * len(columns) + "|"]
    lines += [f"| {name} | {_row(summaries(*where))} |" for name, where in CONDITIONS.items()]
    return "\n".join(lines)


def _row(runs: Sequence[RunSummary]) -> str:
    mi, solved = [run.final_mi for run in runs], [run.final_success for run in runs]
    return " | ".join([
        str(len(runs)),
        f"{min(mi):.2f} to {max(mi):.2f}",
        f"{min(solved):.2f} to {max(solved):.2f}",
        _across(mi, solved),
        _median([run.along() for run in runs]),
        _median([run.of_changes() for run in runs]),
    ])  # fmt: skip


def _across(mi: Sequence[float], solved: Sequence[float]) -> str:
    found = rank_correlation(mi, solved, range(len(mi)), seed=1)
    if found is None:
        return "–"
    ends = f" [{found.low:.2f}, {found.high:.2f}]" if found.low is not None and found.high is not None else ""
    return f"{found.rho:.2f}{ends}"


def _median(values: Sequence[float | None]) -> str:
    """With the number of runs in which it is positive."""
    found = [value for value in values if value is not None]
    return f"{statistics.median(found):.2f} ({sum(value > 0 for value in found)} of {len(found)} above 0)"


def main() -> int:
    sys.stdout.write(table() + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
