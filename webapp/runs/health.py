"""A run's health in words: one label and one sentence with its numbers, from what the engine reported."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import mean, variance
from typing import NamedTuple

from webapp.runs.states import RESTARTING, RunState

Metrics = dict[str, float]
RECENT = 10
ICONS = {"converged": "finished", "at-risk": "alert", "dead": "crashed", "broken-format": "alert"}


class HeldOut(NamedTuple):
    """Success on puzzles that are never trained on, with its 95% interval."""

    success: float
    low: float
    high: float


class Number(NamedTuple):
    """One metric behind the judgement, as text: the first steps, the newest, the best there was, and what is bad."""

    metric: str
    title: str
    first: str
    now: str
    best: str
    limit: str


@dataclass(frozen=True, slots=True)
class Health:
    """`key` names the style of the chip, `word` is what it says, `sentence` gives the reason."""

    key: str
    word: str
    sentence: str
    numbers: tuple[Number, ...] = ()

    @property
    def icon(self) -> str:
        return ICONS.get(self.key, self.key)


def health_of(
    state: str,
    steps: list[Metrics],
    severities: list[str],
    *,
    held_out: Sequence[HeldOut] = (),
    reason: str = "",
    waits_for: str = "",
) -> Health:
    """Judges by state (`Run.shown_as`), then format, then success and open alerts.

    `steps` and `held_out` are oldest first.
    """
    if state == RESTARTING:
        return Health(RESTARTING, "Restarting", reason)
    if state in (RunState.QUEUED, RunState.STARTING):
        return Health("queued", "Waiting", waits_for or "The engine is starting.")
    if state in (RunState.FAILED, RunState.CRASHED):
        return Health("failed", state.capitalize(), reason or "See the log.")
    if state in (RunState.STALLED, RunState.LOST):
        return Health("stalled", state.capitalize(), reason or "Nothing has been heard for a while.")
    if not steps:
        return Health("queued", "Waiting", waits_for or "No step is done yet.")
    return _judge_metrics(steps, severities, held_out)


def _judge_metrics(steps: list[Metrics], severities: list[str], held_out: Sequence[HeldOut]) -> Health:
    judged = _verdict(steps, severities, held_out)
    return replace(judged, numbers=numbers_of(steps, held_out))


def _verdict(steps: list[Metrics], severities: list[str], held_out: Sequence[HeldOut]) -> Health:
    recent = steps[-RECENT:]
    parse = _mean(recent[-3:], "rollout/parse_ok_rate", 1.0)
    success = _mean(recent, "rollout/success", 0.0)
    first = _mean(steps[:RECENT], "rollout/success", 0.0)
    best = _best(steps, "rollout/success")
    facts = _facts(steps, first, success, parse, held_out)
    if parse < 0.5:
        return Health("broken-format", "Broken format", f"Only {parse:.0%} of replies parse. {facts}")
    if success == 0 and len(recent) >= 5:
        return Health("dead", "Dead", f"No trajectory has succeeded for {len(recent)} steps. {facts}")
    if len(steps) >= 2 * RECENT and best >= 0.1 and success < 0.5 * best:
        return Health("collapsing", "Collapsing", f"Success fell from {best:.2f} to {success:.2f}. {facts}")
    if "critical" in severities or "warn" in severities:
        return Health("at-risk", "At risk", f"An alert is open. {facts}")
    if success > 0.95:
        return Health("converged", "Converged", facts)
    if len(steps) < 2 * RECENT:  # the first and the newest steps would overlap
        return Health("running", "Under way", facts)
    return _trend(steps, held_out, facts)


def _trend(steps: list[Metrics], held_out: Sequence[HeldOut], facts: str) -> Health:
    """A move counts where it is larger than what one step's success differs from the next's would explain."""
    rise, margin = rise_of([step["rollout/success"] for step in steps if "rollout/success" in step])
    if rise > margin or (len(held_out) > 1 and held_out[-1].low > held_out[0].success):
        return Health("learning", "Learning", facts)
    if rise < -margin:
        return Health("at-risk", "At risk", f"Success fell by {-rise:.2f} ± {margin:.2f} since the start. {facts}")
    return Health("running", "Flat", f"No clear move of success yet: {rise:+.2f} ± {margin:.2f}. {facts}")


def rise_of(values: Sequence[float]) -> tuple[float, float]:
    """How far the mean of the last steps lies above that of the first ones, and twice its standard error.

    Ten steps each, or halves of fewer. The margin is 0.02 at least.
    """
    count = min(RECENT, len(values) // 2)
    if count < 2:
        return 0.0, 1.0
    before, after = values[:count], values[-count:]
    error = math.sqrt((variance(before) + variance(after)) / count)
    return mean(after) - mean(before), max(0.02, 2 * error)


def numbers_of(steps: list[Metrics], held_out: Sequence[HeldOut]) -> tuple[Number, ...]:
    """What the verdict was made from: means over ten steps, and the limits that they are held against."""
    success, spread, parse = "rollout/success", "reward/in_group_std", "rollout/parse_ok_rate"
    early = _mean(steps[:RECENT], spread, 0.0)
    best = _best(steps, success)
    rows = [
        _number(steps, success, "Training success", f"collapsing below {0.5 * best:.2f}, half of the best"),
        _number(steps, spread, "In-group spread", f"shrinking below {0.5 * early:.2f}, gone below {0.1 * early:.2f}"),
        _number(steps, parse, "Well-formed replies", "broken below 0.50, over three steps"),
    ]
    if held_out:
        top = max(one.success for one in held_out)
        newest = held_out[-1]
        now = f"{newest.success:.2f} [{newest.low:.2f}, {newest.high:.2f}]"
        rows.append(Number("eval/success", "Held-out success", f"{held_out[0].success:.2f}", now, f"{top:.2f}", ""))
    return tuple(row for row in rows if row is not None)


def _number(steps: list[Metrics], name: str, title: str, limit: str) -> Number | None:
    if not any(name in step for step in steps):
        return None
    first, now = _mean(steps[:RECENT], name, 0.0), _mean(steps[-RECENT:], name, 0.0)
    return Number(name, title, f"{first:.2f}", f"{now:.2f}", f"{_best(steps, name):.2f}", limit)


def _best(steps: list[Metrics], name: str) -> float:
    """The highest mean of ten steps in a row."""
    return max(_mean(steps[i : i + RECENT], name, 0.0) for i in range(max(1, len(steps) - RECENT + 1)))


def _facts(steps: list[Metrics], first: float, success: float, parse: float, held_out: Sequence[HeldOut]) -> str:
    spread, early = (
        _mean(steps[-RECENT:], "reward/in_group_std", 0.0),
        _mean(steps[:RECENT], "reward/in_group_std", 0.0),
    )
    words = "healthy" if spread > 0.5 * early else "shrinking" if spread > 0.1 * early else "gone"
    return (
        f"Training success {first:.2f} → {success:.2f}{_puzzles(held_out)} · in-group spread {words} ({spread:.2f}) · "
        f"{parse:.1%} of replies parse"
    )


def _puzzles(held_out: Sequence[HeldOut]) -> str:
    """The first and the newest evaluation, with half of its interval."""
    if not held_out:
        return ""
    newest = held_out[-1]
    before = f"{held_out[0].success:.2f} → " if len(held_out) > 1 else ""
    return f" · held-out {before}{newest.success:.2f} ± {(newest.high - newest.low) / 2:.2f}"


def _mean(steps: list[Metrics], name: str, missing: float) -> float:
    values = [step[name] for step in steps if name in step]
    return sum(values) / len(values) if values else missing
