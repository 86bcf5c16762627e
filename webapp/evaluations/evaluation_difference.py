"""The difference of two evaluations in words: what was compared, on how many problems, and whether it is significant.

Evaluations with the same held-out problems are compared problem by problem. Without a record of the problems, those of
unrelated runs are compared as independent, and those of one lineage are not compared at all.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from engine.statistics.proportions import newcombe
from engine.statistics.shared_problems import SharedProblems, compare_on_shared
from webapp.evaluations.models import Evaluation
from webapp.evaluations.outcomes import tally_of
from webapp.runs.lineage import is_same_lineage


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """`first - other` in percentage points with its 95% interval; `note` says why there is none."""

    points: str = ""
    significant: bool = False
    basis: str = ""
    note: str = ""

    @property
    def summary(self) -> str:
        if not self.points:
            return ""
        return f"{self.points}, {self.basis}: {'' if self.significant else 'not '}significant"


def difference(first: Evaluation, other: Evaluation) -> Difference:
    if note := _why_not_comparable(first, other):
        return Difference(note=note)
    tallies = tally_of(first), tally_of(other)
    if tallies[0] is None or tallies[1] is None:
        return _unrecorded(first, other)
    if len(tallies[0].keys() | tallies[1].keys()) == 1:
        return _independent(first, other, "all of one problem")
    shared = compare_on_shared(tallies[0], tallies[1])
    if shared is None:
        return Difference(note="Not compared: fewer than two problems were played in both evaluations.")
    return Difference(
        points=_points(shared.difference, shared.low, shared.high),
        significant=shared.significant,
        basis=_basis(shared, first, other),
    )


def _basis(shared: SharedProblems, first: Evaluation, other: Evaluation) -> str:
    """Success on the shared problems is stated where it is not that of the whole evaluations."""
    several = "" if shared.method == "one_episode" else ", with several episodes of some"
    words = f"paired on the {shared.problems} problems that both played{several}"
    whole = first.success, other.success
    if all(abs(one - all_of) < 1e-9 for one, all_of in zip((shared.rate, shared.other_rate), whole, strict=True)):
        return words
    return f"{words} ({shared.rate * 100:.1f}% and {shared.other_rate * 100:.1f}% of them)"


def _unrecorded(first: Evaluation, other: Evaluation) -> Difference:
    if is_same_lineage(first.run, other.run):
        return Difference(
            note="Not compared: checkpoints of one lineage are compared on the problems that both played, which these "
            "evaluations did not record."
        )
    return _independent(first, other, "since their problems were not recorded")


def _independent(first: Evaluation, other: Evaluation, why: str) -> Difference:
    interval = newcombe(first.successes, first.episodes, other.successes, other.episodes)
    return Difference(
        points=_points(first.success - other.success, *interval),
        significant=not interval.contains(0.0),
        basis=f"{first.episodes} and {other.episodes} episodes taken as independent, {why}",
    )


def _points(change: float, low: float, high: float) -> str:
    return f"{change * 100:+.1f} points (95% interval {low * 100:+.1f} to {high * 100:+.1f})"


def _why_not_comparable(first: Evaluation, other: Evaluation) -> str:
    mine, its = _environment_config(first), _environment_config(other)
    if mine != its:
        keys = sorted(key for key in {*mine, *its} if mine.get(key) != its.get(key))
        return f"Not comparable: the environments differ in {', '.join(keys)}."
    for name, label in (("first_seed", "first seed"), ("temperature", "temperature")):
        if getattr(first, name) != getattr(other, name):
            return f"Not comparable: {label} {getattr(first, name)} and {getattr(other, name)}."
    return ""


def _environment_config(row: Evaluation) -> dict[str, Any]:
    configs = row.run.config.get("environments", [])
    return next((config for config in configs if config.get("tag") == row.environment), {})
