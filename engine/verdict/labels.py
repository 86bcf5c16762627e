"""The label of a run and the reason for it, from the course of its metrics, its evaluations and its alerts."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import fmean, variance
from typing import NamedTuple

from engine.diagnostics.joint_rules import without_signal
from engine.verdict.course import GRAD_NORM, PARSE_OK, SKIPPED, SUCCESS, Course, Metrics, mean_of
from engine.verdict.held_out import HeldOut
from engine.verdict.thresholds import (
    ALERT_STEPS,
    BROKEN_FORMAT,
    COLLAPSED_SHARE,
    CONVERGED,
    FORMAT_STEPS,
    LEAST_BEST,
    LEAST_MARGIN,
    NO_SUCCESS_STEPS,
    RECENT_STEPS,
    SKIPPED_STEPS,
    STANDARD_ERRORS,
)
from engine.verdict.types import Label


class Labelled(NamedTuple):
    label: Label
    reason: str


def label_of(course: Course, held_out: HeldOut, *, alerted: bool) -> Labelled:
    """Format first, then lost updates, lost success, alerts, and last the trend. `alerted`: an alert still counts."""
    recent = course.recent
    parse = mean_of(recent[-FORMAT_STEPS:], PARSE_OK)
    if parse is not None and parse < BROKEN_FORMAT:
        return Labelled("broken_format", f"Only {parse:.0%} of responses are well-formed.")
    if (lost := steps_without_update(recent)) >= SKIPPED_STEPS:
        return Labelled("at_risk", f"The policy is not updated: no gradient of the last {lost} steps was finite.")
    best, success = course.best.get(SUCCESS, 0.0), course.recent_mean(SUCCESS)
    failing = success == 0 and len(recent) >= NO_SUCCESS_STEPS
    none = f"No trajectory has succeeded for {len(recent)} steps"
    if failing and all(map(without_signal, recent[-NO_SUCCESS_STEPS:])):
        label: Label = "collapsed" if best >= LEAST_BEST else "no_signal"
        return Labelled(label, f"{none}, and returns within every group are equal, so there is nothing to learn from.")
    if (failing or not course.is_short) and best >= LEAST_BEST and success < COLLAPSED_SHARE * best:
        return Labelled("collapsing", f"Training success fell from {best:.2f} to {success:.2f}.")
    if alerted:
        return Labelled("at_risk", f"An alert fired in the last {ALERT_STEPS} steps.")
    if failing and best > 0:
        return Labelled("at_risk", f"{none}, though some did before.")
    if failing:
        return Labelled("in_progress", f"{none}, but returns within groups still differ.")
    if success > CONVERGED:
        return Labelled("converged", f"Training success is {success:.2f}.")
    if course.is_short:
        return Labelled("in_progress", f"A trend can be read from step {2 * RECENT_STEPS} on.")
    return _trend(course, held_out)


def steps_without_update(recent: Sequence[Metrics]) -> int:
    """How many of the steps attempted an update, if none succeeded: a skipped update has a count and no norm."""
    attempted = [step for step in recent if SKIPPED in step]
    return 0 if any(GRAD_NORM in step or not step[SKIPPED] for step in attempted) else len(attempted)


def _trend(course: Course, held_out: HeldOut) -> Labelled:
    """A change counts where it is larger than the noise from step to step explains."""
    compared = [*course.first, *course.recent]
    rise, margin = rise_of([step[SUCCESS] for step in compared if SUCCESS in step])
    change = f"{rise:+.2f} ± {margin:.2f}"
    if rise > margin:
        return Labelled("learning", f"Training success rose since the start ({change}).")
    if held_out.has_risen:
        return Labelled("learning", "Held-out success rose significantly since the first evaluation.")
    if rise < -margin:
        return Labelled("at_risk", f"Training success fell since the start ({change}).")
    return Labelled("flat", f"Training success has not changed significantly since the start ({change}).")


def rise_of(values: Sequence[float]) -> tuple[float, float]:
    """The mean of the last steps minus that of the first, and twice the standard error of the difference.

    Ten steps each, or halves of fewer. The margin is 0.02 at least.
    """
    count = min(RECENT_STEPS, len(values) // 2)
    if count < 2:
        return 0.0, 1.0
    before, after = values[:count], values[-count:]
    error = math.sqrt((variance(before) + variance(after)) / count)
    return fmean(after) - fmean(before), max(LEAST_MARGIN, STANDARD_ERRORS * error)
