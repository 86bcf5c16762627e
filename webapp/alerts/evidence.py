"""The evidence of an alert: its rule at that time, its metric around the step, all metrics, and trajectories."""

from __future__ import annotations

import statistics
from dataclasses import dataclass
from typing import Any

from django.db.models import QuerySet

from engine.config import RunConfig
from engine.config.live import LIVE_FIELDS, value_of, with_changes
from engine.diagnostics.alerts import Metrics
from engine.diagnostics.held_out import AREA as HELD_OUT
from engine.diagnostics.rule_config import RuleConfig
from engine.errors import ConfigError
from engine.events import SettingsChanged
from engine.metrics import OF_THE_MACHINE, describe
from webapp.alerts.rescue import Shown, begun_at, rescue, shown
from webapp.alerts.rules import held_out_of
from webapp.forms.texts import flatten
from webapp.runs.forks import last_before
from webapp.runs.models import Alert, Checkpoint, Run, StepMetrics
from webapp.runs.recorded_events import events_of
from webapp.trajectories.models import Trajectory

BEFORE, AFTER = 60, 15  # steps that the curve covers
WINDOW = 10  # steps in a metric's mean
WORST = 6
WIDTH, HEIGHT, LEFT, BOTTOM, TOP = 720, 200, 56, 22, 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """A metric of the step and its mean over the steps before; `deviations` is the distance in std, None if flat."""

    name: str
    title: str
    value: float
    mean: float | None
    deviations: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Curve:
    """Points of an SVG polyline; lines and marks as `(position, text)`."""

    points: str
    lines: list[tuple[float, str, str]]  # y, class, label
    mark: tuple[float, float] | None
    ticks: list[tuple[float, str]]  # x, step
    low: str
    high: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """`retaken`: the step no longer exists, since a later attempt resumed before it and has not reached it again."""

    alert: Alert
    retaken: bool
    rule: RuleConfig | None
    config: RunConfig
    curve: Curve | None
    notable: list[Compared]
    others: list[Compared]
    worst: QuerySet[Trajectory]
    settings: list[tuple[str, str]]
    checkpoint: Checkpoint | None
    remedies: list[Shown]  # what a fork would change

    @property
    def begun_at(self) -> int:
        return begun_at(self.alert)

    @property
    def rule_fields(self) -> list[tuple[str, Any]]:
        """The main fields of the rule, and those that differ from their defaults."""
        if self.rule is None:
            return []
        shown = {"kind", "metric", "limit", "steps", "severity", "action"}
        fields = type(self.rule).model_fields
        return [
            (name, getattr(self.rule, name))
            for name, info in fields.items()
            if name != "name" and (name in shown or getattr(self.rule, name) != info.default)
        ]


def evidence_of(alert: Alert) -> Evidence:
    run = alert.run
    config = config_at(run, alert.seq)
    rule = next((one for one in config.detectors.rules if one.name == alert.rule), None)
    retaken = alert.step > 0 and not run.steps.filter(step=alert.step, attempt=alert.attempt).exists()
    steps = run.steps.filter(attempt__lte=alert.attempt) if retaken else run.steps.all()
    worst = run.trajectories.filter(split="train", step=alert.step).order_by("episode_return", "pk")[:WORST]
    compared = [] if retaken else _compared(steps, alert.step)
    checkpoint = last_before(run, begun_at(alert))
    return Evidence(
        alert=alert,
        retaken=retaken,
        rule=rule,
        config=config,
        curve=_curve(steps, alert, rule),
        notable=compared[:8],
        others=compared[8:],
        worst=run.trajectories.none() if retaken else worst,
        settings=list(_settings(config).items()),
        checkpoint=checkpoint,
        remedies=shown(rescue(alert, config, start=checkpoint.step if checkpoint else 0)[1]),
    )


def _settings(config: RunConfig) -> dict[str, str]:
    """Live settings but the alert rules, by dotted field."""
    return flatten({name: value_of(config, name) for name in LIVE_FIELDS if not name.startswith("detectors.")})


def config_at(run: Run, seq: int) -> RunConfig:
    """The configuration in force when the event `seq` was written."""
    changes: dict[str, Any] = {}
    for event in events_of(run, SettingsChanged, seq__lt=seq):
        changes |= {field: change.new for field, change in event.changes.items()}
    try:
        return with_changes(run.parsed_config(), changes)
    except ConfigError:
        return run.parsed_config()  # recorded by an engine with other fields


def _compared(steps: QuerySet[StepMetrics], step: int) -> list[Compared]:
    """Every metric of the step, the most unusual first; those of the machine last, as they say little of a policy."""
    rows = dict(steps.filter(step__gte=step - WINDOW, step__lte=step).values_list("step", "metrics"))
    now = rows.pop(step, {})
    found = []
    for name, value in now.items():
        before = [metrics[name] for metrics in rows.values() if name in metrics]
        mean = statistics.fmean(before) if before else None
        std = statistics.pstdev(before) if len(before) > 2 else 0.0
        away = (value - mean) / std if mean is not None and std > 0 else None
        title = describe(name).title
        found.append(Compared(name=name, title=title, value=value, mean=mean, deviations=away))
    return sorted(found, key=lambda one: (one.name.startswith(OF_THE_MACHINE), -abs(one.deviations or 0.0), one.name))


def _recorded(steps: QuerySet[StepMetrics], alert: Alert, near: range) -> list[tuple[int, Metrics]]:
    """The metrics that the alert's metric is part of, by step: of training steps, or of held-out evaluations."""
    if alert.metric.startswith(HELD_OUT):
        return [(step, metrics) for step, metrics in dict(held_out_of(alert.run)).items() if step in near]
    rows = steps.filter(step__gte=near.start, step__lt=near.stop).order_by("step")
    return list(rows.values_list("step", "metrics"))


def _curve(steps: QuerySet[StepMetrics], alert: Alert, rule: RuleConfig | None) -> Curve | None:
    near = range(alert.step - BEFORE, alert.step + AFTER + 1)
    recorded = _recorded(steps, alert, near)
    points = [(step, metrics[alert.metric]) for step, metrics in recorded if alert.metric in metrics]
    if len(points) < 2:
        return None
    lines = _lines(alert, rule)
    values = [value for _, value in points] + [value for value, _, _ in lines]
    low, high = min(values), max(values)
    first, last = points[0][0], max(points[-1][0], alert.step)

    def x(step: int) -> float:
        return round(LEFT + (WIDTH - LEFT - 8) * (step - first) / max(1, last - first), 1)

    def y(value: float) -> float:
        share = (value - low) / (high - low) if high > low else 0.5
        return round(HEIGHT - BOTTOM - (HEIGHT - BOTTOM - TOP) * share, 1)

    value = dict(points).get(alert.step)
    return Curve(
        points=" ".join(f"{x(step)},{y(value)}" for step, value in points),
        lines=[(y(value), kind, words) for value, kind, words in lines],
        mark=(x(alert.step), y(value)) if value is not None else None,
        ticks=[(x(step), str(step)) for step in sorted({first, alert.step, last})],
        low=f"{low:.3g}",
        high=f"{high:.3g}",
    )


def _lines(alert: Alert, rule: RuleConfig | None) -> list[tuple[float, str, str]]:
    reference = alert.baseline
    if reference is None:
        return []
    fixed = rule is not None and rule.kind in ("below", "above")
    found = [] if fixed else [(reference, "reference", f"compared with {reference:.3g}")]
    limit = rule.threshold(reference) if rule is not None else None
    if limit is not None:
        found.append((limit, "threshold", f"limit {limit:.3g}"))
    return found
