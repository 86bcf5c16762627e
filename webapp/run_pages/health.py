"""A run's health in words: one label and one sentence with its numbers, from what the engine reported."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from engine.diagnostics.joint_rules import without_signal
from engine.statistics.means import difference_of_means
from webapp.runs.states import RESTARTING, RunState

Metrics = dict[str, float]
RECENT = 10
ALERT_STEPS = 50  # an alert that is older says nothing of the run as it is
NO_SUCCESS = 5  # steps after which it is said
SUCCESS, REWARD_STD, PARSE = "rollout/success", "reward/within_group_std", "rollout/parse_ok_rate"
SKIPPED, NORM = "optim/skipped_updates", "optim/grad_norm"
JUDGED_BY = (SUCCESS, REWARD_STD, PARSE, "reward/within_group_score_std", SKIPPED, NORM)
ICONS = {"converged": "finished", "at-risk": "alert", "dead": "crashed", "broken-format": "alert"}


class HeldOut(NamedTuple):
    """Success on problems that are never trained on, with its 95% interval."""

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Course:
    """What a run is judged by, of all its steps: the first ten, the newest twenty or more, the best mean of ten in a
    row by metric. Fewer steps are in both."""

    first: list[Metrics]
    newest: list[Metrics]
    best: Metrics

    @classmethod
    def of(cls, steps: list[Metrics]) -> Course:
        """From all steps, oldest first."""
        return cls(first=steps[:RECENT], newest=steps, best=best_means(steps))


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
    course: Course,
    severities: list[str],
    *,
    held_out: Sequence[HeldOut] = (),
    reason: str = "",
    waits_for: str = "",
) -> Health:
    """Judges by state (`Run.shown_as`), then format, then success and alerts.

    `severities` are of the alerts that still count; `held_out` is oldest first.
    """
    if state == RESTARTING:
        return Health(RESTARTING, "Restarting", reason)
    if state in (RunState.QUEUED, RunState.STARTING):
        return Health("queued", "Waiting", waits_for or "The engine is starting.")
    if state in (RunState.FAILED, RunState.CRASHED):
        return Health("failed", state.capitalize(), reason or "See the log.")
    if state in (RunState.STALLED, RunState.LOST):
        return Health("stalled", state.capitalize(), reason or "Nothing has been heard for a while.")
    if not course.newest:
        return Health("queued", "Waiting", waits_for or "No step is done yet.")
    judged = _verdict(course, severities, held_out)
    return replace(judged, numbers=numbers_of(course, held_out))


def _verdict(course: Course, severities: list[str], held_out: Sequence[HeldOut]) -> Health:
    recent, best = course.newest[-RECENT:], course.best.get(SUCCESS, 0.0)
    parse = _mean(recent[-3:], PARSE, 1.0)
    success = _mean(recent, SUCCESS, 0.0)
    facts = _facts(course, parse, held_out)
    if parse < 0.5:
        return Health("broken-format", "Broken format", f"Only {parse:.0%} of responses parse. {facts}")
    if (lost := _steps_without_an_update(recent)) >= 3:
        return Health("at-risk", "At risk", f"Nothing is learned: no gradient of {lost} steps was finite. {facts}")
    without = success == 0 and len(recent) >= NO_SUCCESS
    none = f"No trajectory has succeeded for {len(recent)} steps"
    if without and all(map(without_signal, recent[-NO_SUCCESS:])):
        return Health("dead", "Dead", f"{none}, and within no group anything differs to learn from. {facts}")
    if (without or len(course.newest) >= 2 * RECENT) and best >= 0.1 and success < 0.5 * best:
        return Health("collapsing", "Collapsing", f"Success fell from {best:.2f} to {success:.2f}. {facts}")
    if {"warn", "critical", "dead"} & set(severities):
        return Health("at-risk", "At risk", f"An alert was raised in the last {ALERT_STEPS} steps. {facts}")
    if without and best > 0:
        return Health("at-risk", "At risk", f"{none}, though some did before. {facts}")
    if without:
        return Health("running", "No success yet", f"{none}, but returns within groups still differ. {facts}")
    if success > 0.95:
        return Health("converged", "Converged", facts)
    if len(course.newest) < 2 * RECENT:  # the first and the newest steps would overlap
        return Health("running", "Under way", facts)
    return _trend(course, held_out, facts)


def _steps_without_an_update(recent: list[Metrics]) -> int:
    """How many of the last steps tried to learn, if none could: a skipped update has a count and no norm."""
    tried = [step for step in recent if SKIPPED in step]
    return 0 if any(NORM in step or not step[SKIPPED] for step in tried) else len(tried)


def _trend(course: Course, held_out: Sequence[HeldOut], facts: str) -> Health:
    """A move counts where it is larger than what one step's success differs from the next's would explain."""
    compared = [*course.first, *course.newest[-RECENT:]]
    rise, margin = rise_of([step[SUCCESS] for step in compared if SUCCESS in step])
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
    rise, error = difference_of_means(after, before)
    return rise, max(0.02, 2 * error)


def numbers_of(course: Course, held_out: Sequence[HeldOut]) -> tuple[Number, ...]:
    """What the verdict was made from: means over ten steps, and the limits that they are held against."""
    early = _mean(course.first, REWARD_STD, 0.0)
    best = course.best.get(SUCCESS, 0.0)
    rows = [
        _number(course, SUCCESS, "Training success", f"collapsing below {0.5 * best:.2f}, half of the best"),
        _number(
            course,
            REWARD_STD,
            "within-group reward std",
            f"shrinking below {0.5 * early:.2f}, gone below {0.1 * early:.2f}",
        ),
        _number(course, PARSE, "Well-formed responses", "broken below 0.50, over three steps"),
    ]
    if held_out:
        top = max(one.success for one in held_out)
        newest = held_out[-1]
        now = f"{newest.success:.2f} [{newest.low:.2f}, {newest.high:.2f}]"
        rows.append(Number("eval/success", "Held-out success", f"{held_out[0].success:.2f}", now, f"{top:.2f}", ""))
    return tuple(row for row in rows if row is not None)


def _number(course: Course, name: str, title: str, limit: str) -> Number | None:
    if name not in course.best:
        return None
    first, now = _mean(course.first, name, 0.0), _mean(course.newest[-RECENT:], name, 0.0)
    return Number(name, title, f"{first:.2f}", f"{now:.2f}", f"{course.best[name]:.2f}", limit)


def best_means(steps: list[Metrics]) -> Metrics:
    """The highest mean of ten steps in a row, of each metric that any step has."""
    windows = [steps[i : i + RECENT] for i in range(max(1, len(steps) - RECENT + 1))]
    named = [name for name in JUDGED_BY if any(name in step for step in steps)]
    return {name: max(_mean(window, name, 0.0) for window in windows) for name in named}


def _facts(course: Course, parse: float, held_out: Sequence[HeldOut]) -> str:
    recent = course.newest[-RECENT:]
    first, success = _mean(course.first, SUCCESS, 0.0), _mean(recent, SUCCESS, 0.0)
    early, spread = _mean(course.first, REWARD_STD, 0.0), _mean(recent, REWARD_STD, 0.0)
    words = "healthy" if spread > 0.5 * early else "shrinking" if spread > 0.1 * early else "gone"
    return (
        f"Training success {first:.2f} → {success:.2f}{_problems(held_out)} · within-group reward std {words} ({spread:.2f}) · "
        f"{parse:.1%} of responses parse"
    )


def _problems(held_out: Sequence[HeldOut]) -> str:
    """The first and the newest evaluation, with half of its interval."""
    if not held_out:
        return ""
    newest = held_out[-1]
    before = f"{held_out[0].success:.2f} → " if len(held_out) > 1 else ""
    return f" · held-out {before}{newest.success:.2f} ± {(newest.high - newest.low) / 2:.2f}"


def _mean(steps: list[Metrics], name: str, missing: float) -> float:
    values = [step[name] for step in steps if name in step]
    return sum(values) / len(values) if values else missing
