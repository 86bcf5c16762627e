"""Lost success: the newest steps against the best earlier window, which never overlaps them. In bounded memory.

Success varies from step to step because problems do. Steps of the runs in docs/findings.md vary as if each group of
trajectories were about two independent ones; here a group counts as one, so intervals are wide and false alarms rare.
The best of many short windows is best by chance too, so a fall must also be one from the best 25 steps in a row, once
there are so many: without that, each of 28 runs whose success stayed at 0.1 for 400 steps was called collapsed.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from statistics import fmean
from typing import Literal, NamedTuple

from engine.statistics.proportions import Z95, Z99, difference_of_rates, wilson_many
from engine.verdict.thresholds import (
    BEST_STEPS,
    COLLAPSED,
    COLLAPSING_SHARE,
    LEAST_BEST,
    LONG_STEPS,
    NEWEST_STEPS,
)

REMEMBERED = max(*NEWEST_STEPS, NEWEST_STEPS[0] + LONG_STEPS)
Stage = Literal["kept", "fell", "collapsing", "collapsed"]


class Window(NamedTuple):
    """Mean success of some steps in a row, with its interval."""

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
    """`stage` after the newest step, and the newest steps `now` that it is read from: three, in small batches ten.

    Lost success has recovered when three steps in a row are above half of its best. Until then a run that was
    collapsing may collapse, and one that collapsed is not called anything better because of a few better steps.
    """

    groups: int  # of a step
    newest: deque[tuple[int, float]] = field(default_factory=lambda: deque(maxlen=REMEMBERED))
    best: Window | None = None  # has the highest lower end
    steady: Window | None = None  # the same of `LONG_STEPS` steps, with 99% intervals
    now: Window | None = None
    stage: Stage = "kept"

    def add(self, step: int, success: float) -> None:
        self.newest.append((step, success))
        latest = list(self.newest)
        self.now = self._window(latest[-NEWEST_STEPS[0] :])
        self._keep_best(latest[: -NEWEST_STEPS[0]])
        if self.best is not None:
            self._compare(self.best, latest)

    def _keep_best(self, earlier: list[tuple[int, float]]) -> None:
        for width in range(1, min(BEST_STEPS, len(earlier)) + 1):
            window = self._window(earlier[-width:])
            if self.best is None or window.low > self.best.low:
                self.best = window
        if len(earlier) >= LONG_STEPS:
            window = self._window(earlier[-LONG_STEPS:], Z99)
            if self.steady is None or window.low > self.steady.low:
                self.steady = window

    def _compare(self, best: Window, latest: list[tuple[int, float]]) -> None:
        parts = [latest[-width:] for width in NEWEST_STEPS if len(latest) >= width]
        windows = [self._window(steps) for steps in parts if self._is_below_steady(steps)]
        falls = [window for window in windows if best.last < window.first and is_below(window, best)]
        limit = COLLAPSING_SHARE * best.success
        recovered = all(success >= limit for _, success in latest[-NEWEST_STEPS[0] :])
        lost = best.success >= LEAST_BEST and not recovered
        gone = [window for window in falls if lost and window.success < COLLAPSED]
        halved = [window for window in falls if lost and window.success < limit]
        fell = [window for window in falls if window.high < best.low]
        if gone:
            self.stage, self.now = "collapsed", gone[0]
        elif lost and self.stage in ("collapsing", "collapsed"):
            pass
        elif halved:
            self.stage, self.now = "collapsing", halved[0]
        elif fell:
            self.stage, self.now = "fell", fell[0]
        else:
            self.stage = "kept"

    def _is_below_steady(self, steps: list[tuple[int, float]]) -> bool:
        return self.steady is None or is_below(self._window(steps, Z99), self.steady)

    def _window(self, steps: list[tuple[int, float]], z: float = Z95) -> Window:
        """`z` is the normal quantile of its interval."""
        success = fmean(value for _, value in steps)
        trials = len(steps) * self.groups
        low, high = wilson_many(min(1.0, success) * trials, trials, z)  # a mean of ones may round to more
        return Window(steps[0][0], steps[-1][0], success, float(low), float(high))


def is_below(window: Window, best: Window) -> bool:
    """Whether the interval of the difference, of the level of both, is below 0."""
    _, high = difference_of_rates(window.success, (window.low, window.high), best.success, (best.low, best.high))
    return float(high) < 0
