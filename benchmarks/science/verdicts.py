"""`python -m benchmarks.science.verdicts`: when the verdict changes in the recorded runs, beside the alert rules.

The runs are those of `docs/findings/*.json`: success at every step, a few other curves, evaluations, and the alerts
that were raised. The rules on success and on held-out success are replayed on the curves, since they may have changed.
Runs are collapsed, degraded or neither, as `benchmarks.science.detection` has it; of the last, those at five or ten
times the starter rate lost success and recovered it, so a sign there need not be false. Prints the steps at which each
stage of a collapse shows; `benchmarks.science.detection_tables` counts hits and false alarms by family.
"""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks.science.__main__ import FINDINGS, ROOT
from benchmarks.science.catalogue import EXPERIMENTS
from benchmarks.science.detection import CALM, REVERSED, STUDIED, family_of, is_degraded
from benchmarks.science.runs import directory_of
from engine.config import DetectorsConfig, RunConfig
from engine.diagnostics.default_rules import DEFAULT_RULES
from engine.diagnostics.held_out import held_out_metrics
from engine.diagnostics.recordings import Recording, replay
from engine.events import AlertRaised, EvaluationCompleted, Event, RunFinished, StepCompleted
from engine.statistics.proportions import wilson
from engine.verdict.assessor import Assessor, Settings
from engine.verdict.types import Label, Severity, Verdict

REPLAYED = frozenset({"success_fell", "held_out_fell"})
RULES = DetectorsConfig(rules=tuple(rule for rule in DEFAULT_RULES if rule.name in REPLAYED))
WORSE: dict[str, frozenset[Label]] = {
    "verdict: at risk": frozenset({"at_risk", "broken_format", "collapsing", "collapsed", "no_signal"}),
    "verdict: collapsing": frozenset({"collapsing", "collapsed"}),
    "verdict: collapsed": frozenset({"collapsed"}),
}


@dataclass(frozen=True, slots=True)
class RecordedRun:
    """`verdicts` are those after each step, with its alerts and evaluations."""

    name: str
    family: str
    recording: Recording
    alerts: dict[str, int]  # the step of each rule's first alert
    verdicts: dict[int, Verdict]
    final: Verdict

    @property
    def kind(self) -> str:
        if self.recording.collapsed_at is not None:
            return "collapsed"
        if is_degraded(self.recording):
            return "degraded"
        return "intact" if self.family in (CALM, REVERSED) else "recovered"

    @property
    def success(self) -> list[tuple[int, float]]:
        return [(step, metrics["rollout/success"]) for step, metrics in self.recording.steps]

    def labels(self) -> list[tuple[int, Label]]:
        """Each label with the step at which it began."""
        found: list[tuple[int, Label]] = []
        for step, verdict in self.verdicts.items():
            if not found or found[-1][1] != verdict.label:
                found.append((step, verdict.label))
        return found

    def signs(self) -> dict[str, int]:
        """The step of the first verdict at each stage, and of each rule's first alert."""
        stages = {
            name: next((step for step, verdict in self.verdicts.items() if verdict.label in labels), None)
            for name, labels in WORSE.items()
        }
        return {name: step for name, step in stages.items() if step is not None} | self.alerts


def recorded_runs(experiments: Sequence[str] = STUDIED) -> list[RecordedRun]:
    """Every run once, whichever experiments share it."""
    found: dict[str, RecordedRun] = {}
    for experiment in map(EXPERIMENTS.__getitem__, experiments):
        results = json.loads((FINDINGS / f"{experiment.name}.json").read_text())
        by_run = {(one["arm"], one["seed"]): one for one in results}
        for arm, seed, config in experiment.runs():
            name = directory_of(config, ROOT).name
            if (arm.label, seed) in by_run and name not in found:
                title = f"{experiment.name}, {arm.label}, seed {seed}"
                found[name] = recorded_run(title, family_of(experiment, config), config, by_run[arm.label, seed])
    return list(found.values())


def recorded_run(
    name: str, family: str, config: RunConfig, result: dict[str, Any], *, rules: DetectorsConfig = RULES
) -> RecordedRun:
    """Raises the recorded alerts but those of the `rules`, which are replayed."""
    replayed = {rule.name for rule in rules.rules}
    steps: dict[int, dict[str, float]] = defaultdict(dict)
    for metric, points in result["curves"].items():
        for step, value in points:
            steps[int(step)][metric] = value
    for metrics in steps.values():  # curves leave out how many groups a step has, which rules read
        metrics["rollout/mixed_groups"] = config.rollout.groups
    evaluations = [_evaluation(one) for one in result["evaluations"]]
    readings = [(one.step, held_out_metrics([one])) for one in evaluations]
    recording = Recording(name=name, steps=sorted(steps.items()), evaluations=readings)
    alerts = [_recorded_alert(*one) for one in result["alerts"] if one[2] not in replayed]
    alerts += [firing.alert.event(firing.step) for firing in replay(recording, rules)]
    assessor = Assessor(Settings.of(config))
    verdicts: dict[int, Verdict] = {}
    for event in _in_order(recording, evaluations, alerts):
        assessor.observe(event)
        if (verdict := assessor.verdict()) is not None:
            verdicts[event.step] = verdict
    assessor.observe(RunFinished(step=recording.steps[-1][0], outcome="completed", reason=""))
    final = assessor.verdict()
    assert final is not None
    firsts = {alert.rule: alert.step for alert in sorted(alerts, key=lambda one: -one.step)}
    return RecordedRun(name, family, recording, firsts, verdicts, final)


def _in_order(
    recording: Recording, evaluations: Sequence[EvaluationCompleted], alerts: Sequence[AlertRaised]
) -> Iterator[Event]:
    """A step, its evaluation, and the alerts on either."""
    steps = [StepCompleted(step=step, metrics=metrics, tokens=0, seconds=0) for step, metrics in recording.steps]
    return iter(sorted([*steps, *evaluations, *alerts], key=lambda event: event.step))


def _evaluation(one: dict[str, Any]) -> EvaluationCompleted:
    interval = wilson(one["successes"], one["episodes"])
    return EvaluationCompleted(
        **one, success=one["successes"] / one["episodes"], low=interval.low, high=interval.high,
        mean_return=0.0, first_seed=0, temperature=1.0, seconds=0.0,
    )  # fmt: skip


def _recorded_alert(step: int, severity: Severity, rule: str) -> AlertRaised:
    return AlertRaised(step=step, rule=rule, severity=severity, message=rule, metric="", value=0.0)


def stages_table(runs: Sequence[RecordedRun]) -> str:
    """Of the collapsed runs: the steps at which the first sign of each stage came."""
    lines = ["| run | collapsed from | " + " | ".join(WORSE) + " | end |", "|---|---|---|---|---|---|"]
    for run in runs:
        if run.kind == "collapsed":
            cells = [str(run.signs().get(name, "–")) for name in WORSE]
            lines.append(f"| {run.name} | {run.recording.collapsed_at} | {' | '.join(cells)} | {run.final.title} |")
    return "\n".join(lines)


def main() -> int:
    runs = recorded_runs()
    sys.stdout.write(f"{stages_table(runs)}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
