"""Rules that compare a metric with its own recent or best past. No torch."""

from __future__ import annotations

import math
import statistics
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeVar

from engine.diagnostics.alerts import AlertDraft, Metrics
from engine.diagnostics.rule_config import (
    FallsFromBestConfig,
    FallsSignificantlyConfig,
    SpikeConfig,
    WindowRule,
    ZScoreConfig,
)
from engine.diagnostics.rules import Rule
from engine.statistics.proportions import difference_of_rates, wilson_many

WithWindow = TypeVar("WithWindow", bound=WindowRule)

LEVEL = 0.99
GROUPS = ("rollout/failed_groups", "rollout/mixed_groups", "rollout/solved_groups")  # a step has one of these each


@dataclass(slots=True)
class Windowed(Rule[WithWindow]):
    """Keeps the last `window` readings."""

    window: list[float] = field(default_factory=list)

    def remember(self, value: float) -> None:
        self.window = [*self.window, value][-self.config.window :]

    @property
    def known(self) -> bool:
        """Half a window is enough for a median or a mean."""
        return len(self.window) >= max(2, self.config.window // 2)

    def state_dict(self) -> dict[str, Any]:
        return {**super(Windowed, self).state_dict(), "window": list(self.window)}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        super(Windowed, self).load_state_dict(state)
        self.window = list(state["window"])


@dataclass(slots=True)
class Spike(Windowed[SpikeConfig]):
    """Above `limit` times the median of the readings before."""

    compared_with = "median"

    usual: float | None = None

    def is_breached(self, value: float, metrics: Metrics) -> bool:
        self.usual = statistics.median(self.window) if self.known else None
        self.remember(value)
        return self.usual is not None and value > self.config.limit * self.usual

    def finding(self, value: float) -> str:
        return (
            f"is {value:.3g}, above {self.config.limit:g} times its median {self.usual:.3g} of the last "
            f"{self.config.window} {self.readings},{self.streak}".rstrip(",")
        )

    def reference(self) -> float | None:
        return self.usual


@dataclass(slots=True)
class ZScore(Windowed[ZScoreConfig]):
    """More than `limit` standard deviations, and more than `floor`, from the mean of the readings before."""

    compared_with = "mean"

    mean: float | None = None

    def is_breached(self, value: float, metrics: Metrics) -> bool:
        before = self.window
        self.mean = statistics.fmean(before) if self.known else None
        self.remember(value)
        if self.mean is None:
            return False
        distance = abs(value - self.mean)
        return distance > self.config.floor and distance > self.config.limit * statistics.pstdev(before)

    def finding(self, value: float) -> str:
        return (
            f"is {value:.3g}, more than {self.config.limit:g} standard deviations from its mean {self.mean:.3g} of the "
            f"last {self.config.window} {self.readings},{self.streak}".rstrip(",")
        )

    def reference(self) -> float | None:
        return self.mean


@dataclass(slots=True)
class FallsFromBest(Windowed[FallsFromBestConfig]):
    """Below `limit` times the best mean of `window` readings in a row, which was at least `floor`.

    While there are fewer readings, theirs is a candidate too: a fall that begins at once has no other best.
    """

    compared_with = "best"

    best: float = 0.0
    best_at: int = -1  # the last step of that mean; -1 before the first
    best_of: int = 0  # readings that it is the mean of
    seen: int = 0  # readings in all

    def observe(self, metrics: Metrics, *, step: int) -> AlertDraft | None:
        best = self.best
        draft = super(FallsFromBest, self).observe(metrics, step=step)
        if self.best > best:
            self.best_at = step
        return draft

    def began(self, step: int) -> int:
        """A mean falls below its limit long after its readings have begun to fall, which is after the best mean."""
        return self.best_at + 1 if self.best_at >= 0 else step

    def _reading(self, metrics: Metrics) -> float | None:
        if self.config.metric in metrics:
            self.remember(metrics[self.config.metric])
            self.seen += 1
            mean = statistics.fmean(self.window)
            if mean > self.best:
                self.best, self.best_of = mean, len(self.window)
        return super(FallsFromBest, self)._reading(metrics)

    def is_breached(self, value: float, metrics: Metrics) -> bool:
        limit = self.config.limit * self.best
        return self.best >= self.config.floor and value < limit and not math.isclose(value, limit)  # means are rounded

    def is_certain(self, metrics: Metrics) -> bool:
        """Members of a group share a problem, so that a step has as many trials as groups. A first reading may be the
        best by luck, and each later one is compared with it: until a whole window is better, the level is adjusted for
        the number of readings (Bonferroni)."""
        groups = sum(metrics.get(name, 0.0) for name in GROUPS)
        if not self.config.beyond_noise or not groups:
            return True
        newest = self.window[-max(self.config.steps, self.mean_over) :]
        looks = self.seen if self.best_of < self.config.window else 1
        before = Rate.of(self.best, self.best_of * groups, looks=looks)
        return Rate.of(statistics.fmean(newest), len(newest) * groups, looks=looks).is_below(before)

    def finding(self, value: float) -> str:
        return (
            f"{self.described(value)}, below {self.config.limit:g} times its best of {self.best:.3g} over "
            f"{self.config.window} {self.readings},{self.streak}".rstrip(",")
        )

    def reference(self) -> float | None:
        return self.best

    def state_dict(self) -> dict[str, Any]:
        own = {"best": self.best, "best_at": self.best_at, "best_of": self.best_of, "seen": self.seen}
        return {**super(FallsFromBest, self).state_dict(), **own}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        super(FallsFromBest, self).load_state_dict(state)
        self.best, self.best_at = state["best"], state["best_at"]
        self.best_of, self.seen = state["best_of"], state["seen"]


class Rate(NamedTuple):
    """A success rate and its interval."""

    success: float
    low: float
    high: float

    @classmethod
    def of(cls, success: float, trials: float, *, looks: int) -> Rate:
        """With a Wilson interval that covers in 99% of cases all of so many looks at once."""
        z = statistics.NormalDist().inv_cdf(1 - (1 - LEVEL) / 2 / looks)
        low, high = wilson_many(min(1.0, success) * trials, trials, z)  # a mean of ones may round to more
        return cls(success, float(low), float(high))

    @property
    def text(self) -> str:
        return f"{self.success:.3g} [{self.low:.3g}, {self.high:.3g}]"

    def is_below(self, other: Rate) -> bool:
        """Whether the interval of the difference, of the level of both, is below 0."""
        _, high = difference_of_rates(self.success, self[1:], other.success, other[1:])
        return float(high) < 0


@dataclass(slots=True)
class FallsSignificantly(Rule[FallsSignificantlyConfig]):
    """Below the evaluation whose interval has the highest lower end, or below the first."""

    compared_with = "best"

    first: Rate | None = None
    best: Rate | None = None
    newest: Rate | None = None
    before: Rate | None = None  # the one that the newest is below

    def is_breached(self, value: float, metrics: Metrics) -> bool:
        metric = self.config.metric
        if f"{metric}_low" not in metrics or f"{metric}_high" not in metrics:
            return False
        newest = self.newest = Rate(value, metrics[f"{metric}_low"], metrics[f"{metric}_high"])
        earlier = [one for one in (self.best, self.first) if one is not None]
        self.before = next((one for one in earlier if newest.is_below(one)), None)
        self.first = self.first or newest
        if self.best is None or newest.low > self.best.low:
            self.best = newest
        return self.before is not None

    def finding(self, value: float) -> str:
        newest = self.newest.text if self.newest else f"{value:.3g}"
        before = self.before.text if self.before else ""
        when = "in the first evaluation" if self.before == self.first else "at its best"
        return f"is {newest}, significantly below {before} {when}{self.streak}"

    def reference(self) -> float | None:
        return self.before.success if self.before else None

    def state_dict(self) -> dict[str, Any]:
        own = {name: None if one is None else list(one) for name, one in (("first", self.first), ("best", self.best))}
        return {**super(FallsSignificantly, self).state_dict(), **own}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        super(FallsSignificantly, self).load_state_dict(state)
        self.first, self.best = (Rate(*state[name]) if state[name] else None for name in ("first", "best"))
