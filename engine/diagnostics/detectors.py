"""The detectors of a run: alert rules, and stop conditions that end it. No torch.

Rules are data (`rule_config`, `default_rules`), and each kind is a small class. They read metrics and nothing else, so
they work without a web page and can be replayed on a recording.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from engine.config import DetectorsConfig, StopConfig
from engine.diagnostics.alerts import AlertDraft, Detection, Metrics
from engine.diagnostics.history_rules import FallsFromBest, FallsSignificantly, Spike, ZScore
from engine.diagnostics.joint_rules import (
    FIRING,
    Agreement,
    NoSignal,
    RewardStdCollapsed,
    TemplateCollapse,
    without_signal,
)
from engine.diagnostics.rule_config import RuleConfig
from engine.diagnostics.rules import Above, Below, Falls, Gains, Rises, Rule

KINDS: dict[str, type[Rule[Any]]] = {
    "below": Below,
    "above": Above,
    "falls": Falls,
    "rises": Rises,
    "gains": Gains,
    "falls_from_best": FallsFromBest,
    "falls_significantly": FallsSignificantly,
    "spike": Spike,
    "z_score": ZScore,
    "reward_std_collapsed": RewardStdCollapsed,
    "no_signal": NoSignal,
    "template_collapse": TemplateCollapse,
    "agreement": Agreement,
}
FORK_NOTE = "A fork from before step {} is requested; without a site the run only ends."


def build_rules(rules: Sequence[RuleConfig]) -> dict[str, Rule[Any]]:
    """New rules by name; agreements last, since they read whether the others fire."""
    ordered = sorted(rules, key=lambda rule: rule.kind == "agreement")
    return {rule.name: KINDS[rule.kind](rule) for rule in ordered}


@dataclass(slots=True)
class ZeroSignalDetector:
    """Ends the run after `limit` steps in a row without success and with equal returns in every group; 0: never.

    Such a run has collapsed, not converged: a solved run has success. The reason says whether the format broke as well.
    """

    limit: int
    steps: int = 0

    def observe(self, metrics: Metrics) -> str | None:
        self.steps = self.steps + 1 if without_signal(metrics) else 0
        if not self.limit or self.steps < self.limit:
            return None
        well_formed = metrics.get("rollout/parse_ok_rate", 1.0)
        cause = f" The format is broken: {well_formed:.0%} of responses are well-formed." if well_formed < 0.5 else ""
        return f"No trajectory succeeded and returns in every group were equal for {self.steps} steps in a row.{cause}"


@dataclass(slots=True)
class EmptyFilterDetector:
    """Ends the run after `limit` steps in a row in which the filter kept no group; 0: never."""

    limit: int
    steps: int = 0

    def observe(self, metrics: Metrics) -> str | None:
        self.steps = self.steps + 1 if metrics.get("filter/kept_groups", 1.0) == 0 else 0
        if not self.limit or self.steps < self.limit:
            return None
        return f"The filter kept no group for {self.steps} steps in a row, so there was nothing to train on."


class Detectors:
    """All rules and stop conditions of a run."""

    def __init__(self, config: DetectorsConfig, stops: dict[str, ZeroSignalDetector | EmptyFilterDetector]) -> None:
        self.config = config
        self.rules = build_rules(config.rules)
        self.stops = stops

    def observe(self, step: int, metrics: Metrics) -> Detection:
        """Reads the metrics of one step; steps come in order."""
        alerts = self._alerts(step, metrics)
        reasons = [stop.observe(metrics) for stop in self.stops.values()]
        detection, reason = _detection(alerts), next((reason for reason in reasons if reason), None)
        return Detection(alerts=alerts, stop=reason) if reason and detection.fork_before is None else detection

    def observe_evaluation(self, step: int, metrics: Metrics) -> Detection:
        """Reads the held-out metrics after `step`. Only rules on held-out metrics read them."""
        return _detection(self._alerts(step, metrics))

    def _alerts(self, step: int, metrics: Metrics) -> list[AlertDraft]:
        seen, drafts = dict(metrics), []
        for name, rule in self.rules.items():
            if draft := rule.observe(seen, step=step):
                drafts.append(replace(draft, action=self.config.action_of(rule.config, draft.severity)))
            seen[FIRING + name] = float(rule.firing)
        return [replace(draft, fork_before=self._fork_before(draft, step)) for draft in drafts]

    def _fork_before(self, draft: AlertDraft, step: int) -> int:
        first, rule = self.first_sign(step), self.rules[draft.rule]
        counted = rule.is_open and rule.severity != "watch"
        return first if counted else min(draft.since, first)

    def first_sign(self, step: int) -> int:
        """The first step of any sign that is open at `step`, whether its rule fires already or not; `step` + 1 if none
        is. Severity *watch* is no sign that a checkpoint is spoilt.

        A sign that only some steps can show began anywhere between two readings. If another sign, which every step can
        show, began there too, then both began with it.
        """
        opened = [rule for rule in self._serious() if rule.is_open]
        exact = [rule.since for rule in opened if not rule.is_sparse]
        return min([*exact, *(_began_with(rule, exact) for rule in opened if rule.is_sparse)], default=step + 1)

    def may_begin(self, step: int) -> set[int]:
        """The first steps of the signs that are open at `step`, and of those that the next readings may find."""
        return {rule.may_begin(step) for rule in self._serious()}

    def _serious(self) -> list[Rule[Any]]:
        return [rule for rule in self.rules.values() if rule.severity != "watch"]

    def with_config(self, config: DetectorsConfig) -> Detectors:
        """The same with other rules. A rule that reads the same metric in the same way keeps its state."""
        after = Detectors(config, self.stops)
        for name, rule in after.rules.items():
            before = self.rules.get(name)
            if before is not None and _reads_the_same(before.config, rule.config):
                rule.load_state_dict(before.state_dict())
        return after

    def state_dict(self) -> dict[str, Any]:
        """JSON-able."""
        return {
            "rules": {name: rule.state_dict() for name, rule in self.rules.items()},
            "stops": {name: stop.steps for name, stop in self.stops.items()},
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Restores `state_dict`; a rule that it does not contain starts from scratch."""
        for name, rule_state in state.get("rules", {}).items():
            if name in self.rules:
                self.rules[name].load_state_dict(rule_state)
        for name, steps in state.get("stops", {}).items():
            if name in self.stops:
                self.stops[name].steps = steps


def _began_with(rule: Rule[Any], exact: list[int]) -> int:
    return min([step for step in exact if rule.since <= step <= rule.found_at], default=rule.since)


def _detection(alerts: list[AlertDraft]) -> Detection:
    """Decided by the alert that requests the earliest fork, else by the first alert that stops the run."""
    forking = min((alert for alert in alerts if alert.action == "fork"), key=lambda one: one.fork_before, default=None)
    if forking is not None:
        reason = f"{forking.rule}: {forking.message} {FORK_NOTE.format(forking.fork_before)}"
        return Detection(
            alerts=alerts, stop=reason, ending=forking.ending, rule=forking.rule, fork_before=forking.fork_before
        )
    stopping = next((alert for alert in alerts if alert.action == "stop"), None)
    if stopping is None:
        return Detection(alerts=alerts)
    reason = f"{stopping.rule}: {stopping.message}"
    return Detection(alerts=alerts, stop=reason, ending=stopping.ending, rule=stopping.rule)


def _reads_the_same(one: RuleConfig, other: RuleConfig) -> bool:
    fields = {"kind", "metric", "mean_over", "window", "baseline", "holding"}
    return one.model_dump(include=fields) == other.model_dump(include=fields)


def build_detectors(stop: StopConfig, detectors: DetectorsConfig | None = None) -> Detectors:
    return Detectors(
        detectors or DetectorsConfig(),
        {
            "zero_signal": ZeroSignalDetector(stop.collapsed_after),
            "empty_filter": EmptyFilterDetector(stop.empty_filter_after),
        },
    )
