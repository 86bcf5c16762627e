"""Lost success: the newest steps against the best earlier window, which never overlaps them. In bounded memory.

Success varies from step to step because problems do. Steps of the runs in docs/findings.md vary as if each group of
trajectories were about two independent ones; here a group counts as one, so intervals are wide and false alarms rare.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from statistics import fmean
from typing import Literal, NamedTuple

from engine.statistics.proportions import difference_of_rates, wilson
from engine.verdict.thresholds import BEST_STEPS, COLLAPSED, COLLAPSING_SHARE, LEAST_BEST, NEWEST_STEPS

REMEMBERED = max(*NEWEST_STEPS, NEWEST_STEPS[0] + BEST_STEPS)
Stage = Literal["kept", "fell", "collapsing", "collapsed"]


class Window(NamedTuple):
    """Mean success of some steps in a row, with its 95% interval."""

    first: int
    last: int
    success: float
    low: float
    high: float

    @property
    def steps(self) -> str:
        return f"step {self.first}" if self.first == self.last else f"steps {self.first} to {self.last}"


@dataclass(slots=True)
class LostSuccess:
    """`stage` after the newest step. Once collapsing, success has recovered when three steps in a row are above half of
    its best; in between a run may collapse, but is not called collapsing again because of a few better steps."""

    groups: int  # of a step
    newest: deque[tuple[int, float]] = field(default_factory=lambda: deque(maxlen=REMEMBERED))
    best: Window | None = None  # has the highest lower end
    stage: Stage = "kept"

    def add(self, step: int, success: float) -> None:
        self.newest.append((step, success))
        self._keep_best()
        self.stage = self._stage()

    @property
    def now(self) -> Window:
        """The newest three steps."""
        return self._window(list(self.newest)[-NEWEST_STEPS[0] :])

    def _keep_best(self) -> None:
        earlier = list(self.newest)[: -NEWEST_STEPS[0]]
        for width in range(1, min(BEST_STEPS, len(earlier)) + 1):
            window = self._window(earlier[-width:])
            if self.best is None or window.low > self.best.low:
                self.best = window

    def _stage(self) -> Stage:
        best, latest = self.best, list(self.newest)
        if best is None:
            return "kept"
        windows = [self._window(latest[-width:]) for width in NEWEST_STEPS if len(latest) >= width]
        falls = [window for window in windows if best.last < window.first and is_below(window, best)]
        limit = COLLAPSING_SHARE * best.success
        if best.success >= LEAST_BEST:
            if any(window.success < COLLAPSED for window in falls):
                return "collapsed"
            recovered = all(success >= limit for _, success in latest[-NEWEST_STEPS[0] :])
            if self.stage in ("collapsing", "collapsed") and not recovered:
                return self.stage
            if any(window.success < limit for window in falls):
                return "collapsing"
        return "fell" if any(window.high < best.low for window in falls) else "kept"

    def _window(self, steps: list[tuple[int, float]]) -> Window:
        success = fmean(value for _, value in steps)
        trials = len(steps) * self.groups
        interval = wilson(min(1.0, success) * trials, trials)  # a mean of ones may round to more
        return Window(steps[0][0], steps[-1][0], success, interval.low, interval.high)


def is_below(window: Window, best: Window) -> bool:
    """Whether the 95% interval of the difference is below 0."""
    _, high = difference_of_rates(window.success, (window.low, window.high), best.success, (best.low, best.high))
    return float(high) < 0
