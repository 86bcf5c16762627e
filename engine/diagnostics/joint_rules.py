"""Rules that read several metrics: no signal, vanished reward std, template collapse, agreement. No torch."""

from __future__ import annotations

import statistics
from dataclasses import dataclass, field, replace
from typing import Any

from engine.diagnostics.alerts import AlertDraft, Metrics
from engine.diagnostics.rule_config import (
    AgreementConfig,
    NoSignalConfig,
    RewardStdCollapsedConfig,
    TemplateCollapseConfig,
)
from engine.diagnostics.rules import Falls, Rule
from engine.verdict.types import Severity

ZERO_STD = 1e-6
SUCCESS_STEPS = 10
FIRING = "firing/"  # prefix under which an agreement reads whether another rule fires


def without_signal(metrics: Metrics) -> bool:
    """Whether a step had no success, and within every group returns and scores, which include penalties, were equal.

    False when success or the within-group reward std is unknown.
    """
    stds = (metrics.get("reward/within_group_std", 1.0), metrics.get("reward/within_group_score_std", 0.0))
    return metrics.get("rollout/success", 1.0) == 0 and max(stds) < ZERO_STD


@dataclass(slots=True)
class NoSignal(Rule[NoSignalConfig]):
    """No trajectory succeeded, and within every group returns and penalties were equal."""

    def is_breached(self, value: float, metrics: Metrics) -> bool:
        return without_signal(metrics)

    def finding(self, value: float) -> str:
        return f"has been 0 for {self.config.steps} steps, and within every group all returns and penalties are equal"


@dataclass(slots=True)
class RewardStdCollapsed(Falls[RewardStdCollapsedConfig]):
    """Within-group reward std far below its baseline: *watch* while success holds, else the severity of the rule.

    Success holds when its mean over the last ten steps is at least 90% of the best such mean, and above 0. The std
    alone cannot tell a converged policy from a collapsed one: it fired on healthy runs of RAGEN.
    """

    recent: list[float] = field(default_factory=list)
    best: float = 0.0

    def is_breached(self, value: float, metrics: Metrics) -> bool:
        self.recent = [*self.recent, metrics.get("rollout/success", 0.0)][-SUCCESS_STEPS:]
        if len(self.recent) == SUCCESS_STEPS:
            self.best = max(self.best, statistics.fmean(self.recent))
        return super(RewardStdCollapsed, self).is_breached(value, metrics)

    @property
    def severity(self) -> Severity:
        return "watch" if self.success_holds else self.config.severity

    @property
    def success_holds(self) -> bool:
        return bool(self.recent) and 0 < statistics.fmean(self.recent) >= 0.9 * self.best

    def draft(self, value: float) -> AlertDraft:
        success = statistics.fmean(self.recent)
        begin = f"{self.subject} {self.finding(value)}."
        plain = super(RewardStdCollapsed, self).draft(value)
        if self.success_holds:
            solved = (
                f"Training success holds at {success:.3g}, so the problems may be solved: use harder ones, or stop."
            )
            return replace(plain, ending="converged", message=f"{begin} {solved}")
        lost = f"Training success is {success:.3g}, its best was {self.best:.3g}. {self.config.advice}"
        return replace(plain, message=f"{begin} {lost}".rstrip())

    def state_dict(self) -> dict[str, Any]:
        return {**super(RewardStdCollapsed, self).state_dict(), "recent": list(self.recent), "best": self.best}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        super(RewardStdCollapsed, self).load_state_dict(state)
        self.recent, self.best = list(state["recent"]), state["best"]


@dataclass(slots=True)
class TemplateCollapse(Falls[TemplateCollapseConfig]):
    """The metric fell while an entropy holds: thoughts stay varied but ignore the state (arXiv 2604.06268).

    When both fall the policy becomes deterministic, which is another regime and the subject of other rules.
    """

    held: list[float] = field(default_factory=list)  # first readings of the metric that must hold

    def is_breached(self, value: float, metrics: Metrics) -> bool:
        if self.config.holding not in metrics:
            return False
        holding = metrics[self.config.holding]
        if len(self.held) < self.config.baseline:
            self.held.append(holding)
        holds = holding >= self.config.holding_limit * statistics.fmean(self.held)
        return super(TemplateCollapse, self).is_breached(value, metrics) and holds

    def state_dict(self) -> dict[str, Any]:
        return {**super(TemplateCollapse, self).state_dict(), "held": list(self.held)}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        super(TemplateCollapse, self).load_state_dict(state)
        self.held = list(state["held"])


@dataclass(slots=True)
class Agreement(Rule[AgreementConfig]):
    """At least `limit` of the rules `among` fire at once: independent signals that agree count for more than one."""

    agreeing: list[str] = field(default_factory=list)

    def is_breached(self, value: float, metrics: Metrics) -> bool:
        self.agreeing = [name for name in self.config.among if metrics.get(FIRING + name)]
        return len(self.agreeing) >= self.config.limit

    def finding(self, value: float) -> str:
        names = ", ".join(self.agreeing)
        return f"is {value:.3g}, and {len(self.agreeing)} of {len(self.config.among)} rules fire: {names}"
