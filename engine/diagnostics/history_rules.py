"""Rules that compare a metric with its own recent or best past. No torch."""

from __future__ import annotations

import statistics
from dataclasses import dataclass, field
from typing import Any, TypeVar

from engine.diagnostics.alerts import AlertDraft, Metrics
from engine.diagnostics.rule_config import FallsFromBestConfig, SpikeConfig, WindowRule, ZScoreConfig
from engine.diagnostics.rules import Rule

WithWindow = TypeVar("WithWindow", bound=WindowRule)


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
    """The mean of the last readings is below `limit` times the best such mean, which was at least `floor`."""

    best: float = 0.0
    best_at: int = -1  # the last step of that mean; -1 before the first

    def observe(self, metrics: Metrics, *, step: int) -> AlertDraft | None:
        best = self.best
        draft = super(FallsFromBest, self).observe(metrics, step=step)
        if self.best > best:
            self.best_at = step
        return draft

    def began(self, step: int) -> int:
        """A mean falls below its limit long after its readings have begun to fall, which is after the best mean."""
        return self.best_at + 1 if self.best_at >= 0 else step

    def may_begin(self, step: int) -> int:
        return self.since if self.is_open else step + 1

    def is_breached(self, value: float, metrics: Metrics) -> bool:
        self.remember(value)
        if len(self.window) < self.config.window:
            return False
        mean = statistics.fmean(self.window)
        self.best = max(self.best, mean)
        return self.best >= self.config.floor and mean < self.config.limit * self.best

    def finding(self, value: float) -> str:
        mean = statistics.fmean(self.window)
        return f"fell to {mean:.3g} over {self.config.window} {self.readings}, from its best of {self.best:.3g}"

    def reference(self) -> float | None:
        return self.best

    def state_dict(self) -> dict[str, Any]:
        return {**super(FallsFromBest, self).state_dict(), "best": self.best, "best_at": self.best_at}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        super(FallsFromBest, self).load_state_dict(state)
        self.best, self.best_at = state["best"], state["best_at"]
