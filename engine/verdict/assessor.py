"""The assessor: fed with the events of a run in order, it says at any time what the verdict is.

Its memory is bounded whatever the length of the run, and it depends on events alone: fed with those of a recorded run
it gives the verdict that the run recorded.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from engine.config import RunConfig
from engine.events import AlertRaised, EvaluationCompleted, Event, RunFinished, StepCompleted
from engine.verdict import course, format_changes, regimes
from engine.verdict.course import SUCCESS, Course, Metrics
from engine.verdict.evidence import evidence_of, summary_of
from engine.verdict.format_changes import FormatTracker
from engine.verdict.held_out import Evaluation, HeldOut, PooledEvaluation
from engine.verdict.labels import Facts, Labelled, label_of
from engine.verdict.lost_success import LostSuccess
from engine.verdict.open_alerts import OpenAlerts
from engine.verdict.regimes import RegimeRule, RegimeTracker, regime_rule
from engine.verdict.thresholds import RULES_VERSION
from engine.verdict.types import ENDED_TITLES, LEVELS, TITLES, Label, Verdict

METRICS = frozenset({*course.METRICS, *regimes.METRICS, *format_changes.METRICS})


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What the assessor needs of a run's configuration. Held-out success is that of the first environment."""

    total_steps: int
    environment: str
    regime_rule: RegimeRule
    groups: int  # of a step
    watched: frozenset[str] = frozenset()  # metrics of the run's alert rules

    @classmethod
    def of(cls, config: RunConfig, *, total_steps: int | None = None) -> Settings:
        return cls(
            total_steps=config.steps if total_steps is None else total_steps,
            environment=config.environments[0].tag,
            regime_rule=regime_rule(config.detectors),
            groups=config.rollout.groups,
            watched=frozenset(rule.metric for rule in config.detectors.rules),
        )

    def reads(self, metric: str) -> bool:
        return metric in METRICS or metric in self.watched or metric.startswith(format_changes.CASES)


class Assessor:
    """Takes the events that count: none of steps that a later attempt made again (`recorded.counted`)."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.course = Course()
        self.success = LostSuccess(settings.groups)
        self.held_out = HeldOut()
        self.pooled = PooledEvaluation()
        self.alerts = OpenAlerts()
        self.regimes = RegimeTracker(settings.regime_rule)
        self.format = FormatTracker(settings.total_steps)
        self.step = 0
        self.ended, self.ended_by = False, ""
        self.settled: Label | None = None  # the label after the step before this one
        self.since = 0
        self._newest: Labelled | None = None  # None once something has changed

    def observe(self, event: Event) -> None:
        match event:
            case StepCompleted():
                self.add_step(event.step, event.metrics)
            case EvaluationCompleted():
                self.add_evaluation(event.environment, Evaluation(event.success, event.low, event.high, event.step))
                self.alerts.read(self.step, self.pooled.add(event))
            case AlertRaised():
                self._newest = None
                self.alerts.add(event)
            case RunFinished():
                self.end(event.rule)
            case _:
                pass

    def add_step(self, step: int, metrics: Metrics) -> None:
        """What an alert or an evaluation says of the step before is known by now, so its label is settled."""
        self._settle()
        self._newest = None
        self.step = step
        self.course.add(metrics)
        if SUCCESS in metrics:
            self.success.add(step, metrics[SUCCESS])
        self.alerts.read(step, {name: value for name, value in metrics.items() if self.settings.reads(name)})
        self.regimes.add(step, metrics)
        self.format.add(step, metrics)

    def add_evaluation(self, environment: str, evaluation: Evaluation) -> None:
        self._newest = None
        if environment == self.settings.environment:
            self.held_out.add(evaluation)

    def end(self, rule: str = "") -> None:
        """The run is over; `rule` is the alert rule that ended it, if one did."""
        self._newest = None
        self.ended, self.ended_by = True, rule

    def verdict(self) -> Verdict | None:
        """None before the first step."""
        if not self.course.steps:
            return None
        found = self._labelled()
        titles = TITLES | ENDED_TITLES if self.ended else TITLES
        return Verdict(
            label=found.label,
            title=titles[found.label],
            level=LEVELS[found.label],
            reason=found.reason,
            summary=summary_of(self.course, self.held_out),
            step=self.step,
            since=self.since if found.label == self.settled else self.step,
            ended=self.ended,
            ended_by=self.ended_by,
            alert=found.alert.basis() if found.alert is not None else None,
            evidence=evidence_of(self.course, self.success, self.held_out),
            regime=self.regimes.regime,
            borders=self.regimes.borders,
            format_changes=self.format.changes(),
            format_summary=self.format.summary(),
            rules_version=RULES_VERSION,
        )

    def _labelled(self) -> Labelled:
        if self._newest is None:
            facts = Facts(
                course=self.course,
                success=self.success,
                held_out=self.held_out,
                alerts=self.alerts.counting(self.step),
                ended=self.ended,
            )
            self._newest = label_of(facts)
        return self._newest

    def _settle(self) -> None:
        if not self.course.steps:
            return
        label = self._labelled().label
        if label != self.settled:
            self.settled, self.since = label, self.step


def assess(events: Iterable[Event], settings: Settings) -> Verdict | None:
    """The verdict on a run by all of its events that count, in order; None without a step."""
    assessor = Assessor(settings)
    for event in events:
        assessor.observe(event)
    return assessor.verdict()
