"""Alert rules: each watches one metric and raises one alert per incident. No torch.

A rule decides for each reading whether it is breached. It fires after `steps` breached readings in a row, and is
resolved after `recovery` readings in a row that are not. It raises no further alert within `cooldown` readings of the
last; an incident that is still open afterwards is reported then. Steps without the metric change nothing. All state is
bounded and saved in checkpoints. This module has the base, and the rules that compare with a fixed number or with the
run's baseline.
"""

from __future__ import annotations

import statistics
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Any, ClassVar, Generic, TypeVar

from engine.diagnostics.alerts import AlertDraft, Metrics
from engine.diagnostics.rule_config import (
    BaselineRule,
    FallsConfig,
    FixedRule,
    GainsConfig,
    RewardStdCollapsedConfig,
    RisesConfig,
    RuleBase,
    SmoothedRule,
    TemplateCollapseConfig,
)
from engine.metrics import describe
from engine.verdict.types import ComparedWith, Severity

Config = TypeVar("Config", bound=RuleBase)
WithBaseline = TypeVar("WithBaseline", bound=BaselineRule)
Fall = TypeVar("Fall", bound=FallsConfig | RewardStdCollapsedConfig | TemplateCollapseConfig)

SPARSE = ("collapse/", "gradient/", "eval/")  # areas that only some steps have


@dataclass(slots=True)
class Rule(ABC, Generic[Config]):
    """Streaks and hysteresis; subclasses decide what is breached."""

    compared_with: ClassVar[ComparedWith] = "limit"  # what `reference` is

    config: Config
    breached: int = 0  # breached readings in a row, up to now
    clear: int = 0
    certain: bool = False  # of a breach: whether it is more than noise
    firing: bool = False
    pending: bool = False  # it fires and has not raised its alert yet
    quiet: int = 0  # readings until it may raise another alert
    since: int = -1  # the first step of the breach, which may be between two readings; -1 before the first
    found_at: int = -1  # the step of the reading that found it
    clear_at: int = -1  # the step of the newest reading that was not breached; -1 before the first
    latest: list[float] = field(default_factory=list)  # values that a mean is taken of

    @abstractmethod
    def is_breached(self, value: float, metrics: Metrics) -> bool:
        """Reads one value; whether it is breached."""

    def is_certain(self, metrics: Metrics) -> bool:
        """Whether the breached readings are more than noise, and an alert if there are enough of them."""
        return True

    @abstractmethod
    def finding(self, value: float) -> str:
        """The predicate of the message: "is 0.01, under 0.05 for 5 steps"."""

    def reference(self) -> float | None:
        """The number that the value is compared with, for the alert."""
        return None

    @property
    def subject(self) -> str:
        return self.config.subject or describe(self.config.metric).title

    @property
    def is_sparse(self) -> bool:
        return self.config.metric.startswith(SPARSE)

    @property
    def readings(self) -> str:
        return "readings" if self.is_sparse else "steps"

    @property
    def mean_over(self) -> int:
        return self.config.mean_over if isinstance(self.config, SmoothedRule) else 1

    @property
    def streak(self) -> str:
        """End of a finding: for how many readings, or nothing when one is enough."""
        return f" for {self.config.steps} {self.readings}" if self.config.steps > 1 else ""

    def described(self, value: float) -> str:
        """The value, and over how many readings it is a mean."""
        over = f" (mean of {self.mean_over} {self.readings})" if self.mean_over > 1 else ""
        return f"is {value:.3g}{over}"

    def observe(self, metrics: Metrics, *, step: int) -> AlertDraft | None:
        value = self._reading(metrics)
        if value is None:
            return None
        self._count(self.is_breached(value, metrics), step)
        self.certain = self.breached > 0 and self.is_certain(metrics)
        self.quiet = max(0, self.quiet - 1)
        if self.firing:
            self.firing = self.clear < (self.config.recovery or self.config.steps)
        elif self.breached >= self.config.steps and self.certain:
            self.firing = self.pending = True
        self.pending = self.pending and self.firing
        if not self.pending or self.quiet or not self.breached:
            return None
        self.pending, self.quiet = False, self.config.cooldown
        return self.draft(value)

    def draft(self, value: float) -> AlertDraft:
        reference = self.reference()
        return AlertDraft(
            rule=self.config.name,
            severity=self.severity,
            metric=self.config.metric,
            value=value,
            baseline=reference,
            compared_with=self.compared_with,
            limit=self.config.threshold(reference) if reference is not None else None,
            since=self.since,
            message=f"{self.subject} {self.finding(value)}. {self.config.advice}".rstrip(),
        )

    def _reading(self, metrics: Metrics) -> float | None:
        """The value, or the mean of the last ones; None when there are too few."""
        if self.config.metric not in metrics:
            return None
        value = metrics[self.config.metric]
        if self.mean_over == 1:
            return value
        self.latest = [*self.latest, value][-self.mean_over :]
        return statistics.fmean(self.latest) if len(self.latest) == self.mean_over else None

    def _count(self, breached: bool, step: int) -> None:
        if breached and not self.is_open:
            self.since, self.found_at = self.began(step), step
        if not breached:
            self.clear_at = step
        self.breached = self.breached + 1 if breached else 0
        self.clear = 0 if breached else self.clear + 1

    @property
    def severity(self) -> Severity:
        """Of an alert that would be raised now."""
        return self.config.severity

    @property
    def is_open(self) -> bool:
        """Whether it fires, or is on its way to it: a breach that may be noise is not."""
        return self.firing or (self.breached > 0 and self.certain)

    def began(self, step: int) -> int:
        """The first step of a breach that is read at `step`: the one after the last clear reading."""
        return step if self.clear_at < 0 else self.clear_at + 1

    def may_begin(self, step: int) -> int:
        """The earliest step that a sign can have which is open, or which the next reading may find."""
        return self.since if self.is_open else self.began(step + 1)

    def state_dict(self) -> dict[str, Any]:
        return {
            "breached": self.breached,
            "clear": self.clear,
            "firing": self.firing,
            "pending": self.pending,
            "quiet": self.quiet,
            "since": self.since,
            "found_at": self.found_at,
            "clear_at": self.clear_at,
            "certain": self.certain,
            "latest": list(self.latest),
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.breached, self.clear, self.firing = state["breached"], state["clear"], state["firing"]
        self.pending, self.quiet = state["pending"], state["quiet"]
        self.since, self.found_at, self.clear_at = state["since"], state["found_at"], state["clear_at"]
        self.certain = state["certain"]
        self.latest = list(state["latest"])


@dataclass(slots=True)
class Below(Rule[FixedRule]):
    """Below a fixed limit."""

    def is_breached(self, value: float, metrics: Metrics) -> bool:
        return value < self.config.limit

    def finding(self, value: float) -> str:
        return f"{self.described(value)}, below {self.config.limit:g}{self.streak}"

    def reference(self) -> float | None:
        return self.config.limit


@dataclass(slots=True)
class Above(Below):
    """Above a fixed limit."""

    def is_breached(self, value: float, metrics: Metrics) -> bool:
        return value > self.config.limit

    def finding(self, value: float) -> str:
        return f"{self.described(value)}, above {self.config.limit:g}{self.streak}"


@dataclass(slots=True)
class AgainstBaseline(Rule[WithBaseline]):
    """Compares with the baseline, the mean of the metric's first readings; those raise nothing themselves."""

    compared_with = "start"

    first: list[float] = field(default_factory=list)

    @abstractmethod
    def beyond(self, value: float, baseline: float) -> bool:
        """Whether a value after the first ones is breached."""

    def is_breached(self, value: float, metrics: Metrics) -> bool:
        if len(self.first) < self.config.baseline:
            self.first.append(value)
            return False
        return self.beyond(value, statistics.fmean(self.first))

    def reference(self) -> float | None:
        return statistics.fmean(self.first)

    @property
    def baseline_text(self) -> str:
        return f"the mean {self.reference():.3g} of the first {self.config.baseline} {self.readings}"

    def state_dict(self) -> dict[str, Any]:
        return {**super(AgainstBaseline, self).state_dict(), "first": list(self.first)}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        super(AgainstBaseline, self).load_state_dict(state)
        self.first = list(state["first"])


@dataclass(slots=True)
class Falls(AgainstBaseline[Fall]):
    """Below `limit` times the baseline, when the baseline is above 0 and at least `floor`."""

    def beyond(self, value: float, baseline: float) -> bool:
        return baseline > 0 and baseline >= self.config.floor and value < self.config.limit * baseline

    def finding(self, value: float) -> str:
        return f"{self.described(value)}, below {self.config.limit:g} times {self.baseline_text},{self.streak}".rstrip(
            ","
        )


@dataclass(slots=True)
class Rises(AgainstBaseline[RisesConfig]):
    """Above `limit` times the baseline, when the baseline is above 0 and at least `floor`."""

    def beyond(self, value: float, baseline: float) -> bool:
        return baseline > 0 and baseline >= self.config.floor and value > self.config.limit * baseline

    def finding(self, value: float) -> str:
        return f"{self.described(value)}, above {self.config.limit:g} times {self.baseline_text},{self.streak}".rstrip(
            ","
        )


@dataclass(slots=True)
class Gains(AgainstBaseline[GainsConfig]):
    """Above the baseline by more than `limit`."""

    def beyond(self, value: float, baseline: float) -> bool:
        return value > baseline + self.config.limit

    def finding(self, value: float) -> str:
        return f"{self.described(value)}, above {self.baseline_text} by more than {self.config.limit:g}{self.streak}"
