"""The numbers behind a label, as rows and as one line of text."""

from __future__ import annotations

from engine.verdict.course import PARSE_OK, REWARD_STD, SUCCESS, Course, mean_of
from engine.verdict.held_out import HeldOut
from engine.verdict.lost_success import LostSuccess
from engine.verdict.thresholds import (
    BROKEN_FORMAT,
    COLLAPSED,
    COLLAPSING_SHARE,
    FORMAT_STEPS,
    STD_HEALTHY,
    STD_NEAR_ZERO,
)
from engine.verdict.types import Evidence
from engine.verdict.wording import with_margin

DIGITS = 4  # after the point, of numbers that go into events


def evidence_of(course: Course, success: LostSuccess, held_out: HeldOut) -> list[Evidence]:
    std = course.first_mean(REWARD_STD)
    rows = [
        _success_row(course, success),
        _row(
            course,
            REWARD_STD,
            "Within-group reward std",
            f"shrinking below {STD_HEALTHY * std:.2f}, near zero below {STD_NEAR_ZERO * std:.2f}",
        ),
        _row(
            course,
            PARSE_OK,
            "Well-formed responses",
            f"broken format below {BROKEN_FORMAT:.2f}, mean of {FORMAT_STEPS} steps",
        ),
        _held_out_row(held_out),
    ]
    return [row for row in rows if row is not None]


def _success_row(course: Course, success: LostSuccess) -> Evidence | None:
    """The best is that of the window which the newest steps are compared with, unless they are better themselves."""
    best = success.best
    if best is None:
        return _row(course, SUCCESS, "Training success", "")
    limit = f"collapsing below {COLLAPSING_SHARE * best.success:.2f}, half of its best; collapsed below {COLLAPSED:.2f}"
    row = _row(course, SUCCESS, "Training success", limit)
    return row and row.model_copy(update={"best": round(max(best.success, course.recent_mean(SUCCESS)), DIGITS)})


def _row(course: Course, metric: str, title: str, limit: str) -> Evidence | None:
    if metric not in course.best:
        return None
    first, now, best = course.first_mean(metric), course.recent_mean(metric), course.best[metric]
    return Evidence(
        metric=metric,
        title=title,
        first=round(first, DIGITS),
        now=round(now, DIGITS),
        best=round(best, DIGITS),
        limit=limit,
    )


def _held_out_row(held_out: HeldOut) -> Evidence | None:
    first, newest, best = held_out.first, held_out.newest, held_out.best
    if first is None or newest is None or best is None:
        return None
    return Evidence(
        metric="eval/success",
        title="Held-out success",
        first=round(first.success, DIGITS),
        now=round(newest.success, DIGITS),
        best=round(best.success, DIGITS),
        low=round(newest.low, DIGITS),
        high=round(newest.high, DIGITS),
    )


def summary_of(course: Course, held_out: HeldOut) -> str:
    """Such as: Training success 0.20 → 0.50 · within-group reward std healthy (0.40) · 100.0% well-formed responses.

    Without what the run does not report: a trainer elsewhere may send no success, groups or parsing.
    """
    parts = []
    if mean_of(course.recent, SUCCESS) is not None:
        before = f"{course.first_mean(SUCCESS):.2f} → " if course.steps > 1 else ""
        parts.append(f"Training success {before}{course.recent_mean(SUCCESS):.2f}")
    if held_out.first is not None and held_out.newest is not None:
        first = f"{held_out.first.success:.2f} → " if held_out.count > 1 else ""
        parts.append(f"held-out {first}{with_margin(held_out.newest)}")
    if mean_of(course.recent, REWARD_STD) is not None:
        parts.append(_std_summary(course.first_mean(REWARD_STD), course.recent_mean(REWARD_STD)))
    if (parse := mean_of(course.recent[-FORMAT_STEPS:], PARSE_OK)) is not None:
        parts.append(f"{parse:.1%} well-formed responses")
    return " · ".join(parts)


def _std_summary(first: float, now: float) -> str:
    state = "healthy" if now > STD_HEALTHY * first else "shrinking" if now > STD_NEAR_ZERO * first else "near zero"
    return f"within-group reward std {state} ({now:.2f})"
