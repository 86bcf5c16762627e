"""The label of a run and the reason for it, from the course of its metrics, its evaluations and its alerts."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import NamedTuple

from engine.diagnostics.joint_rules import without_signal
from engine.verdict.course import GRAD_NORM, PARSE_OK, REWARD_STD, SKIPPED, SUCCESS, Course, Metrics, mean_of
from engine.verdict.held_out import HeldOut
from engine.verdict.lost_success import LostSuccess, Window
from engine.verdict.open_alerts import OpenAlert
from engine.verdict.thresholds import (
    BROKEN_FORMAT,
    COLLAPSING_SHARE,
    CONVERGED,
    FORMAT_STEPS,
    LEAST_BEST,
    LEAST_MARGIN,
    NO_SUCCESS_STEPS,
    SKIPPED_STEPS,
    STANDARD_ERRORS,
    TREND_STEPS,
)
from engine.verdict.types import Label
from engine.verdict.wording import alert_reason, held_out_reason, with_margin

# of a run that is trained elsewhere and sends rewards alone
UNKNOWN_SUCCESS = "Success is not reported, so there is no trend: send rollout/success, or held-out evaluations."


class Labelled(NamedTuple):
    label: Label
    reason: str
    alert: OpenAlert | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What a label is read from. `ended`: the run is over."""

    course: Course
    success: LostSuccess
    held_out: HeldOut
    alerts: Sequence[OpenAlert]  # that count
    ended: bool


def label_of(facts: Facts) -> Labelled:
    """Lost success first, then broken format, lost updates, alerts and falls, and last the trend.

    Alerts warn of falls, so in a run that is over a fall counts first.
    """
    warnings = (_fell, _alerted) if facts.ended else (_alerted, _fell)
    checks = (_without_signal, _lost, _broken_format, _without_updates, *warnings, _without_success)
    found = next((labelled for check in checks if (labelled := check(facts)) is not None), None)
    return found or _trend(facts)


def _without_signal(facts: Facts) -> Labelled | None:
    recent, best = facts.course.recent, facts.success.best
    if not _fails(recent) or not all(map(without_signal, recent[-NO_SUCCESS_STEPS:])):
        return None
    label: Label = "collapsed" if _best_of(facts) >= LEAST_BEST else "no_signal"
    before = f" ({best.success:.2f} at its best, {best.steps})" if best is not None and best.success > 0 else ""
    return Labelled(
        label,
        f"Training success has been 0 for {len(recent)} steps{before}, and returns within every group are equal, so "
        "there is nothing to learn from.",
    )


def _lost(facts: Facts) -> Labelled | None:
    best, now, recent = facts.success.best, facts.success.now, facts.course.recent
    gone = facts.success.stage == "collapsed" or (_fails(recent) and _best_of(facts) >= LEAST_BEST)
    if best is None or now is None or not (gone or facts.success.stage == "collapsing"):
        return None
    parse = _parse(recent)
    format_too = f" {parse:.0%} of responses are well-formed." if parse is not None and parse < BROKEN_FORMAT else ""
    if gone:
        return Labelled("collapsed", f"{_over(now)} ({best.success:.2f} at its best, {best.steps}).{format_too}")
    limit = COLLAPSING_SHARE * best.success
    reason = f"{_over(now)} (limit {limit:.2f}, half of its best of {best.success:.2f} in {best.steps})."
    return Labelled("degraded" if facts.ended else "collapsing", reason + format_too)


def _broken_format(facts: Facts) -> Labelled | None:
    parse = _parse(facts.course.recent)
    if parse is None or parse >= BROKEN_FORMAT:
        return None
    return Labelled("broken_format", f"{parse:.0%} of responses are well-formed (limit {BROKEN_FORMAT:.0%}).")


def _without_updates(facts: Facts) -> Labelled | None:
    lost = steps_without_update(facts.course.recent)
    if lost < SKIPPED_STEPS:
        return None
    return Labelled("at_risk", f"None of the last {lost} steps had a finite gradient: the policy is not updated.")


def _alerted(facts: Facts) -> Labelled | None:
    if not facts.alerts:
        return None
    return Labelled("at_risk", alert_reason(facts.alerts), facts.alerts[0])


def _fell(facts: Facts) -> Labelled | None:
    """Beyond the intervals of training success or of held-out success."""
    best, held_out = facts.success.best, facts.held_out
    label: Label = "degraded" if facts.ended else "at_risk"
    now = facts.success.now
    if facts.success.stage == "fell" and best is not None and now is not None:
        return Labelled(label, f"{_over(now)}, below {best.success:.2f} at its best ({best.steps}).")
    before = held_out.fell_from
    if before is None or held_out.newest is None:
        return None
    when = "in the first evaluation" if before == held_out.first else f"at its best, step {before.step}"
    return Labelled(label, held_out_reason(held_out.newest, before, when=when))


def _without_success(facts: Facts) -> Labelled | None:
    recent = facts.course.recent
    if not _fails(recent):
        return None
    none = f"Training success has been 0 for {len(recent)} steps"
    if _best_of(facts) > 0:
        return Labelled("at_risk", f"{none}, though some trajectories succeeded before.")
    label: Label = "flat" if facts.ended else "in_progress"
    return Labelled(label, f"{none}, but returns within groups still differ.")


def _trend(facts: Facts) -> Labelled:
    """A change counts where it is larger than the noise from step to step explains."""
    course, held_out = facts.course, facts.held_out
    success = course.recent_mean(SUCCESS)
    if success > CONVERGED:
        return Labelled("converged", f"Training success is {success:.2f} (limit {CONVERGED:.2f}).")
    if held_out.has_risen and held_out.newest is not None and held_out.first is not None:
        newest, first = with_margin(held_out.newest), with_margin(held_out.first)
        return Labelled("learning", f"Held-out success is {newest}, above {first} in the first evaluation.")
    if course.is_short:
        return _early(facts)
    if not any(SUCCESS in step for step in course.recent):
        return Labelled("flat" if facts.ended else "in_progress", UNKNOWN_SUCCESS)
    compared = [*course.first, *course.recent]
    rise, margin = rise_of([step[SUCCESS] for step in compared if SUCCESS in step])
    change = f"by {abs(rise):.2f} ± {margin:.2f} since the start"
    if rise > margin:
        return Labelled("learning", f"Training success rose {change}.")
    if rise < -margin:
        return Labelled("degraded" if facts.ended else "at_risk", f"Training success fell {change}.")
    return Labelled("flat", f"Training success changed {change}, which is not significant.")


def _early(facts: Facts) -> Labelled:
    """Before a trend can be read, all that can be said is whether updates have something to learn from."""
    course = facts.course
    if facts.ended:
        count = "1 step is" if course.steps == 1 else f"{course.steps} steps are"
        return Labelled("too_short", f"{count} too few for a trend, which needs {2 * TREND_STEPS}.")
    until = f"trend can be read from step {2 * TREND_STEPS} on"
    std = mean_of(course.recent, REWARD_STD)
    if course.steps < 2 or std == 0 or not course.recent_mean(SUCCESS):
        return Labelled("too_early", f"A {until}.")
    differ = "Some trajectories succeed" if std is None else f"Returns within groups differ (std {std:.2f})"
    return Labelled("too_early", f"{differ}, so updates have a signal; a {until}.")


def _fails(recent: Sequence[Metrics]) -> bool:
    """Whether no trajectory of the newest steps succeeded, five at least. Steps that do not say so do not count."""
    known = [step[SUCCESS] for step in recent if SUCCESS in step]
    return len(known) >= NO_SUCCESS_STEPS and not any(known)


def _best_of(facts: Facts) -> float:
    return max(facts.course.best.get(SUCCESS, 0.0), facts.success.best.success if facts.success.best else 0.0)


def _parse(recent: Sequence[Metrics]) -> float | None:
    return mean_of(recent[-FORMAT_STEPS:], PARSE_OK)


def _over(now: Window) -> str:
    return f"Training success is {now.success:.2f} over {now.steps}"


def steps_without_update(recent: Sequence[Metrics]) -> int:
    """How many of the steps attempted an update, if none succeeded: a skipped update has a count and no norm."""
    attempted = [step for step in recent if SKIPPED in step]
    return 0 if any(GRAD_NORM in step or not step[SKIPPED] for step in attempted) else len(attempted)


def _variance(values: Sequence[float]) -> float:
    """As `statistics.variance`, whose exact fractions take a millisecond."""
    mean = fmean(values)
    return sum((value - mean) ** 2 for value in values) / (len(values) - 1)


def rise_of(values: Sequence[float]) -> tuple[float, float]:
    """The mean of the last steps minus that of the first, and twice the standard error of the difference.

    Ten steps each, or halves of fewer. The margin is 0.02 at least.
    """
    count = min(TREND_STEPS, len(values) // 2)
    if count < 2:
        return 0.0, 1.0
    before, after = values[:count], values[-count:]
    error = math.sqrt((_variance(before) + _variance(after)) / count)
    return fmean(after) - fmean(before), max(LEAST_MARGIN, STANDARD_ERRORS * error)
