"""What changed in the form of responses, and in which order: length, parse failures, invalid actions, turns."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from operator import attrgetter
from statistics import fmean

from engine.verdict.course import Metrics
from engine.verdict.thresholds import (
    BASELINE_SHARE,
    CUT_OFF_GAIN,
    INVALID_GAIN,
    LASTING_STEPS,
    LEAST_BASELINE,
    LENGTH_FACTOR,
    MOST_BASELINE,
    PARSE_FACTOR,
    TURNS_FACTOR,
)
from engine.verdict.types import FormatChange, Unit

LENGTH, LONGEST, CUT_OFF = "rollout/response_tokens", "rollout/response_tokens_p95", "rollout/cut_off_rate"
PARSE_OK, INVALID, TURNS = "rollout/parse_ok_rate", "rollout/invalid_action_rate", "rollout/turns"
CASES = "rollout/parse/"  # the share of responses of each parse case
NO_FAILURES = frozenset({"rollout/parse/ok"})
METRICS = (LENGTH, LONGEST, CUT_OFF, PARSE_OK, INVALID, TURNS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sign:
    """One kind of change: `differs(value, baseline)`. `shown` maps a value to the one that is reported."""

    key: str
    metric: str
    title: str
    unit: Unit
    differs: Callable[[float, float], bool]
    shown: Callable[[float], float] = float


SIGNS = (
    Sign(
        key="longer",
        metric=LENGTH,
        title="responses became 50% longer",
        unit="tokens",
        differs=lambda value, baseline: value > LENGTH_FACTOR * baseline,
    ),
    Sign(
        key="shorter",
        metric=LENGTH,
        title="responses became a third shorter",
        unit="tokens",
        differs=lambda value, baseline: value < baseline / LENGTH_FACTOR,
    ),
    Sign(
        key="long_tail",
        metric=LONGEST,
        title="the longest responses became 50% longer",
        unit="tokens",
        differs=lambda value, baseline: value > LENGTH_FACTOR * baseline,
    ),
    Sign(
        key="cut_off",
        metric=CUT_OFF,
        title="more responses were cut off at the token limit",
        unit="share",
        differs=lambda value, baseline: value > baseline + CUT_OFF_GAIN,
    ),
    Sign(
        key="parse_failures",
        metric=PARSE_OK,
        title="parse failures rose",
        unit="share",
        differs=lambda value, baseline: value < PARSE_FACTOR * baseline,
        shown=lambda value: 1.0 - value,
    ),
    Sign(
        key="invalid_actions",
        metric=INVALID,
        title="more responses named actions that do not exist",
        unit="share",
        differs=lambda value, baseline: value > baseline + INVALID_GAIN,
    ),
    Sign(
        key="more_turns",
        metric=TURNS,
        title="trajectories took more turns",
        unit="turns",
        differs=lambda value, baseline: value > TURNS_FACTOR * baseline,
    ),
    Sign(
        key="fewer_turns",
        metric=TURNS,
        title="trajectories took fewer turns",
        unit="turns",
        differs=lambda value, baseline: value < baseline / TURNS_FACTOR,
    ),
)


def baseline_steps(total_steps: int) -> int:
    """First steps that the baseline is the mean of: a fifth of a short run, so that most of it can show a change."""
    return max(LEAST_BASELINE, min(MOST_BASELINE, total_steps // BASELINE_SHARE))


@dataclass(slots=True)
class _Watch:
    """One sign, value by value, in bounded memory. `began` is the first of the steps in a row that differ."""

    sign: Sign
    size: int
    first: list[float] = field(default_factory=list)
    first_cases: dict[str, float] = field(default_factory=lambda: defaultdict(float))  # sums
    streak: int = 0
    began: tuple[int, float, dict[str, float]] | None = None  # step, value, parse cases
    lasting: bool = False
    now: float = 0.0

    def add(self, step: int, metrics: Metrics) -> None:
        if self.sign.metric not in metrics:
            return
        self.now = metrics[self.sign.metric]
        cases = _failures(metrics) if self.sign.metric == PARSE_OK else {}
        if len(self.first) < self.size:
            self.first.append(self.now)
            for name, share in cases.items():
                self.first_cases[name] += share
        elif not self.lasting:
            self._count(step, cases)

    def _count(self, step: int, cases: dict[str, float]) -> None:
        if not self.differs:
            self.streak, self.began = 0, None
            return
        self.began = self.began or (step, self.now, cases)
        self.streak += 1
        self.lasting = self.streak >= LASTING_STEPS

    @property
    def baseline(self) -> float:
        return fmean(self.first)

    @property
    def differs(self) -> bool:
        return self.sign.differs(self.now, self.baseline)

    def change(self) -> FormatChange | None:
        if not self.lasting or self.began is None:
            return None
        step, value, cases = self.began
        sign = self.sign
        return FormatChange(
            key=sign.key,
            metric=sign.metric,
            title=sign.title,
            unit=sign.unit,
            step=step,
            baseline=round(sign.shown(self.baseline), 4),
            value=round(sign.shown(value), 4),
            now=round(sign.shown(self.now), 4),
            holds=self.differs,
            main_case=self._main_case(cases),
        )

    def _main_case(self, cases: dict[str, float]) -> str:
        """The parse failure that rose most since the first steps, if any did."""
        rises = {name: share - self.first_cases.get(name, 0.0) / self.size for name, share in cases.items()}
        worst = max(rises, key=lambda name: rises[name], default="")
        return worst.removeprefix(CASES) if worst and rises[worst] > 0 else ""


def _failures(metrics: Metrics) -> dict[str, float]:
    return {name: share for name, share in metrics.items() if name.startswith(CASES) and name not in NO_FAILURES}


class FormatTracker:
    """Follows the form of responses step by step."""

    def __init__(self, total_steps: int) -> None:
        self.size = baseline_steps(total_steps)
        self.watches = [_Watch(sign, self.size) for sign in SIGNS]
        self.steps = 0
        self.now: Metrics = {}

    def add(self, step: int, metrics: Metrics) -> None:
        self.steps += 1
        self.now = {name: metrics[name] for name in (PARSE_OK, LENGTH) if name in metrics}
        for watch in self.watches:
            watch.add(step, metrics)

    def changes(self) -> list[FormatChange]:
        """In the order in which they began."""
        found = [change for watch in self.watches if (change := watch.change()) is not None]
        return sorted(found, key=attrgetter("step"))

    def summary(self) -> str:
        """The order of changes, in a sentence or two."""
        present = self._present()
        enough = self.size + LASTING_STEPS
        if self.steps < enough:
            return f"{present} Changes can be reported from step {enough} on."
        changes = self.changes()
        if not changes:
            return f"No lasting change since the start. {present}"
        (step, first), *later = [(step, list(same)) for step, same in groupby(changes, attrgetter("step"))]
        then = [f"{one.title} (step {one.step})" for _, same in later for one in same]
        rest = f" Then {_listed(then)}." if then else ""
        return f"First, at step {step}, {_listed([_described(one) for one in first])}.{rest} {present}"

    def _present(self) -> str:
        parts = []
        if PARSE_OK in self.now:
            parts.append(f"{self.now[PARSE_OK]:.1%} of responses are well-formed")
        if LENGTH in self.now:
            parts.append(f"mean response length is {shown(self.now[LENGTH], 'tokens')}")
        return f"Now {', '.join(parts)}." if parts else ""


def _described(change: FormatChange) -> str:
    values = f"{shown(change.baseline, change.unit)} → {shown(change.value, change.unit)}"
    case = f", mostly {change.main_case.replace('_', ' ')}" if change.main_case else ""
    return f"{change.title} ({values}{case})"


def shown(value: float, unit: Unit) -> str:
    """A value of a change as text: 31 tokens, 12.5%, 2.25 turns."""
    if unit == "share":
        return f"{value:.1%}"
    digits = 1 if unit == "tokens" else 2
    return f"{value:.{digits}f}".rstrip("0").rstrip(".") + f" {unit}"


def _listed(parts: Sequence[str]) -> str:
    return parts[0] if len(parts) < 2 else f"{', '.join(parts[:-1])} and {parts[-1]}"


def explain_format_changes(total_steps: int) -> str:
    return (
        f"A value counts as changed once it differs for {LASTING_STEPS} steps in a row from the mean of the first "
        f"{baseline_steps(total_steps)} steps: response length by a factor of {LENGTH_FACTOR:g}; "
        f"{100 * CUT_OFF_GAIN:.0f} percentage points more responses cut off; well-formed responses below "
        f"{PARSE_FACTOR:.0%} of the start; {100 * INVALID_GAIN:.0f} percentage points more responses with an unknown "
        f"action; turns by a factor of {TURNS_FACTOR:g}. The limits of parse failures and unknown actions are those "
        "that predicted most collapses with fewest false alarms in 22 recorded runs of RAGEN; the others are "
        "Starboard's own."
    )
