"""Tables of alert rules, one for each family of runs.

With the default limits they are computed from what each run recorded (`docs/findings/NAME.json`), with limits chosen
elsewhere from `docs/findings/detection.json`, since choosing reads every metric of the runs.
"""

from __future__ import annotations

import json
import statistics
from collections.abc import Mapping, Sequence
from functools import cache

from benchmarks.science.__main__ import FINDINGS
from benchmarks.science.detection import Outcome, Outcomes
from benchmarks.science.verdicts import WORSE, RecordedRun, recorded_runs
from engine.config import DetectorsConfig
from engine.diagnostics.scorecard import Score, tally
from engine.statistics.proportions import wilson

COLUMNS = ("sign", "hits", "median lead", "late", "false alarms", "before a collapse", "degraded, alerted")


def runs_table() -> str:
    lines = ["| family | runs | collapsed | degraded | kept their success |", "|---" * 5 + "|"]
    for name, runs in recorded_families().items():
        kinds = [run.kind for run in runs]
        collapsed, degraded = kinds.count("collapsed"), kinds.count("degraded")
        lines.append(f"| {name} | {len(runs)} | {collapsed} | {degraded} | {len(runs) - collapsed - degraded} |")
    return "\n".join(lines)


def default_limits() -> str:
    return _tables(recorded_outcomes())


def verdict_stages() -> str:
    """The same of the verdict: a stage is a sign from the first step at which it, or a worse one, shows."""
    outcomes = {name: [_outcome(stage, runs) for stage in WORSE] for name, runs in recorded_families().items()}
    return f"{_tables(outcomes)}\n\n{_calm(outcomes)}"


def _tables(found: Outcomes) -> str:
    """One for each family in which a run collapsed."""
    tables = [f"**{name}**\n\n{rules_table(of)}" for name, of in found.items() if of[0].clear.collapsed]
    return "\n\n".join(tables)


def without_collapses() -> str:
    return _calm(recorded_outcomes())


def _calm(outcomes: Outcomes) -> str:
    """Signs in the families in which no run collapsed: a row for each that some run shows."""
    found = {name: of for name, of in outcomes.items() if not of[0].clear.collapsed}
    lines = [f"| sign | {' | '.join(f'{name}, false alarms | degraded' for name in found)} |"]
    lines.append("|---" * (1 + 2 * len(found)) + "|")
    for signs in zip(*found.values(), strict=True):
        if any(one.fired for one in signs):
            cells = [
                f"{share(one.clear.false_alarms, one.clear.healthy)} | {one.warned}/{one.degraded}" for one in signs
            ]
            lines.append(f"| {signs[0].clear.rule} | {' | '.join(cells)} |")
    return "\n".join(lines)


def chosen_limits() -> str:
    """Only rules whose hits or false alarms differ from those with the default limits at the time."""
    found = stored()
    tables = []
    for name, outcomes in found["chosen"].items():
        pairs = zip(outcomes, found["ships"][name], strict=True)
        differing = [one for one, ships in pairs if _counts(one) != _counts(ships)]
        if differing and differing[0].clear.collapsed:
            tables.append(f"**{name}**\n\n{rules_table(differing)}")
    return "\n\n".join(tables)


def _counts(one: Outcome) -> tuple[int, int, int]:
    return one.clear.hits, one.clear.false_alarms, one.warned


@cache
def recorded_families() -> Mapping[str, Sequence[RecordedRun]]:
    found: dict[str, list[RecordedRun]] = {}
    for run in recorded_runs():
        found.setdefault(run.family, []).append(run)
    return found


def recorded_outcomes() -> Outcomes:
    """By family an outcome for each rule that a new run has."""
    return {name: [_outcome(rule.name, runs) for rule in DetectorsConfig().rules]
            for name, runs in recorded_families().items()}  # fmt: skip


def _outcome(rule: str, runs: Sequence[RecordedRun]) -> Outcome:
    clear = [run for run in runs if run.kind != "degraded"]
    degraded = [run for run in runs if run.kind == "degraded"]
    ends = [run.recording.collapsed_at for run in clear]
    return Outcome(
        clear=tally(rule, 0.0, ends, [run.signs().get(rule) for run in clear]),
        warned=sum(rule in run.signs() for run in degraded),
        degraded=len(degraded),
    )


def stored() -> dict[str, Outcomes]:
    """By limits and family, as `benchmarks.science.detection` wrote them."""
    found: dict[str, Outcomes] = {"ships": {}, "chosen": {}}
    lines = json.loads((FINDINGS / "detection.json").read_text())
    degraded = {one["family"]: len(one["degraded"]) for one in lines if "limits" not in one}
    for one in lines:
        if "limits" in one:
            score = Score(**{"matched": None, **one["clear"], "leads": tuple(one["clear"]["leads"])})
            outcome = Outcome(clear=score, warned=one["warned"], degraded=degraded[one["family"]])
            found[one["limits"]].setdefault(one["family"], []).append(outcome)
    return found


def rules_table(outcomes: Sequence[Outcome]) -> str:
    """A row for each rule that fired, those with most hits first; the names of the others in the last."""
    lines = [f"| {' | '.join(COLUMNS)} |", "|---" * len(COLUMNS) + "|"]
    lines += [_row(one) for one in sorted(outcomes, key=lambda one: -one.clear.hits) if one.fired]
    silent = [one.clear.rule for one in outcomes if not one.fired]
    return "\n".join([*lines, f"\nNo alert: {', '.join(silent)}."] if silent else lines)


def _row(one: Outcome) -> str:
    score = one.clear
    cells = (
        score.rule,
        share(score.hits, score.collapsed),
        f"{statistics.median(score.leads):g}" if score.leads else "–",
        str(score.late),
        share(score.false_alarms, score.healthy),
        f"{score.matched:.1f}/{score.healthy}" if score.matched is not None else "–",
        f"{one.warned}/{one.degraded}" if one.degraded else "–",
    )
    return f"| {' | '.join(cells)} |"


def share(part: int, whole: int) -> str:
    """The fraction with its 95% Wilson interval."""
    if not whole:
        return "–"
    low, high = wilson(part, whole)
    return f"{part}/{whole} [{low:.2f}, {high:.2f}]"
