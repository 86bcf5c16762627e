"""When alerts are raised, when they are not, and that an interrupted run goes on as if it were not."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from engine.config import StopConfig
from engine.diagnostics.alerts import AlertDraft
from engine.diagnostics.detectors import Detectors, build_detectors
from engine.event_lines import parse_event
from engine.events import AlertRaised
from engine.training.run_directory import EventLog

HEALTHY = {
    "rollout/success": 0.4,
    "reward/within_group_std": 0.4,
    "rollout/parse_ok_rate": 0.95,
    "policy/entropy": 1.0,
    "optim/grad_norm": 2.0,
    "filter/kept_groups": 8.0,
}
DEAD = HEALTHY | {"rollout/success": 0.0, "reward/within_group_std": 0.0}
NO_STOP = StopConfig(collapsed_after=0, empty_filter_after=0)


def step_of(**changes: float) -> dict[str, float]:
    """A healthy step but for `changes`, named by the last part of the metric."""
    short = {name.split("/")[-1]: name for name in HEALTHY}
    return HEALTHY | {short[name]: value for name, value in changes.items()}


def alerts_of(
    steps: Iterable[dict[str, float]], detectors: Detectors | None = None, *, first: int = 1
) -> list[tuple[int, AlertDraft]]:
    """`(step, alert)` in order."""
    watching = detectors or build_detectors(NO_STOP)
    return [
        (number, alert)
        for number, metrics in enumerate(steps, start=first)
        for alert in watching.observe(number, metrics).alerts
    ]


def raised(steps: Iterable[dict[str, float]]) -> list[tuple[int, str, str]]:
    return [(number, alert.rule, alert.severity) for number, alert in alerts_of(steps)]


def test_a_healthy_run_raises_nothing() -> None:
    assert raised([HEALTHY] * 100) == []


def test_five_steps_without_success_and_with_equal_returns_are_dead() -> None:
    # the third zero in a row is also the third success under half of its best, 0.4
    found = raised([HEALTHY] * 12 + [DEAD] * 6)
    assert (17, "no_signal", "dead") in found
    assert (15, "success_fell", "critical") in found


def test_zero_success_with_different_returns_is_not_dead() -> None:
    assert raised([step_of(success=0.0)] * 30) == []


def test_zero_success_and_equal_returns_are_not_dead_while_penalties_differ() -> None:
    trained = DEAD | {"reward/within_group_score_std": 0.02}
    assert "no_signal" not in {rule for _, rule, _ in raised([HEALTHY] * 12 + [trained] * 20)}
    assert stop_of([trained] * 20, collapsed_after=3) == [None] * 20


def test_a_format_breakdown_is_critical_after_three_steps() -> None:
    assert raised([HEALTHY, *[step_of(parse_ok_rate=0.49)] * 3]) == [(4, "format_breakdown", "critical")]
    assert raised([HEALTHY, *[step_of(parse_ok_rate=0.49)] * 2, HEALTHY]) == []


def test_reward_std_below_a_tenth_of_its_baseline_for_ten_steps_warns_when_success_is_lost() -> None:
    trouble = step_of(within_group_std=0.03, success=0.21)
    assert raised([HEALTHY] * 10 + [trouble] * 10) == [(20, "within_group_std_low", "warn")]
    assert raised([HEALTHY] * 10 + [trouble] * 9) == []


def test_reward_std_that_falls_because_the_problems_are_solved_is_only_to_watch() -> None:
    [(step, alert)] = alerts_of([HEALTHY] * 10 + [step_of(within_group_std=0.03, success=0.99)] * 10)
    assert (step, alert.rule, alert.severity) == (20, "within_group_std_low", "watch")
    assert "solved" in alert.message
    assert alert.baseline == pytest.approx(0.4)


def test_entropy_falling_and_rising_are_two_alerts() -> None:
    assert raised([HEALTHY] * 10 + [step_of(entropy=0.19)] * 5) == [(15, "entropy_low", "warn")]
    assert raised([HEALTHY] * 10 + [step_of(entropy=3.1)] * 3) == [(13, "entropy_high", "warn")]
    assert raised([HEALTHY] * 10 + [step_of(entropy=2.9), step_of(entropy=0.21)] * 20) == []


def test_a_gradient_norm_over_five_times_its_median_for_three_steps_is_watched() -> None:
    [(step, alert)] = alerts_of([HEALTHY] * 20 + [step_of(grad_norm=10.5)] * 3)
    assert (step, alert.rule, alert.severity) == (23, "grad_norm_spike", "watch")
    assert (alert.value, alert.baseline) == (10.5, 2.0)
    assert raised([HEALTHY] * 20 + [step_of(grad_norm=1e6), step_of(grad_norm=1e6), HEALTHY] * 5) == []


def test_success_below_half_of_its_best_for_three_steps_is_critical() -> None:
    # the best mean of five steps is 0.4
    fallen = step_of(success=0.19)
    assert raised([HEALTHY] * 15 + [fallen] * 3) == [(18, "success_fell", "critical")]
    assert raised([HEALTHY] * 15 + [fallen, fallen, HEALTHY] * 5) == []


def test_a_fall_that_begins_at_once_is_compared_with_the_first_steps() -> None:
    # the start of a recorded collapse: its best is its first step, 0.461, and half of that 0.23. The curve is below it
    # at steps 8, 9 and 10. The mean of ten steps is 0.27 at best, which it would reach at step 10.
    curve = [0.461, 0.445, 0.320, 0.289, 0.414, 0.297, 0.289, 0.086, 0.039, 0.023]
    [(step, alert)] = alerts_of([step_of(success=one) for one in curve])
    assert (step, alert.rule, alert.since, alert.value) == (10, "success_fell", 2, 0.023)
    assert alert.baseline == pytest.approx(0.461)
    assert alert.limit == pytest.approx(0.2305)
    assert alert.message.startswith("Training success is 0.023, below 0.5 times its best of 0.461 over 5 steps, for 3")


def of_groups(success: float, groups: int) -> dict[str, float]:
    """A step with so many groups, whose members succeed and fail."""
    return step_of(success=success) | {"rollout/failed_groups": 1, "rollout/mixed_groups": groups - 1}


def test_a_fall_of_success_within_the_noise_of_few_groups_is_no_alert() -> None:
    # 99% intervals: five steps of 8 groups at 0.2 are 40 trials, from 0.086; three at 0.08 are 24, up to 0.327. The
    # difference is -0.12 + sqrt(0.247² + 0.114²) = 0.15 at most. 24 trials without success go up to 0.217:
    # -0.2 + sqrt(0.217² + 0.114²) = 0.05, and after 0.4, from 0.229: -0.4 + sqrt(0.217² + 0.171²) = -0.12. With 64
    # groups 0.08 goes up to 0.146 and 0.2 down to 0.149: -0.12 + sqrt(0.066² + 0.051²) = -0.04.
    assert raised([of_groups(0.2, 8)] * 5 + [of_groups(0.08, 8)] * 9) == []
    assert (8, "success_fell", "critical") not in raised([of_groups(0.2, 8)] * 5 + [of_groups(0.0, 8)] * 3)
    assert raised([of_groups(0.2, 64)] * 5 + [of_groups(0.08, 64)] * 3) == [(8, "success_fell", "critical")]
    assert (8, "success_fell", "critical") in raised([of_groups(0.4, 8)] * 5 + [of_groups(0.0, 8)] * 3)


def test_a_lucky_first_step_is_no_best_to_fall_from() -> None:
    """Training success of a run on Sokoban that ends where it began: 0.37 in its first step of 16 groups, then 0.16 in
    the mean. With a level of 99% at each of 33 steps the last three, 0.08 in the mean, would be significantly lower."""
    success = [
        0.37, 0.16, 0.09, 0.11, 0.17, 0.20, 0.27, 0.09, 0.13, 0.11, 0.11, 0.33, 0.15, 0.20, 0.14, 0.14, 0.34, 0.13,
        0.08, 0.27, 0.20, 0.19, 0.19, 0.15, 0.11, 0.05, 0.23, 0.17, 0.05, 0.16, 0.13, 0.08, 0.02,
    ]  # fmt: skip
    assert raised([of_groups(value, 16) for value in success]) == []


def test_success_that_was_never_there_cannot_fall() -> None:
    assert raised([step_of(success=0.04)] * 15 + [step_of(success=0.0)] * 15) == []


def test_an_alert_is_raised_once_until_its_signal_recovers() -> None:
    bad, steps = step_of(parse_ok_rate=0.1), [HEALTHY]
    steps += [bad] * 20 + [HEALTHY, HEALTHY] + [bad] * 10  # two good steps are not a recovery, three are
    assert [number for number, *_ in raised(steps)] == [4]
    steps += [HEALTHY] * 3 + [bad] * 3
    assert [number for number, *_ in raised(steps)] == [4, 39]


def test_a_step_without_the_metric_changes_nothing() -> None:
    bad, skipped = step_of(grad_norm=50.0), {k: v for k, v in HEALTHY.items() if k != "optim/grad_norm"}
    assert raised([HEALTHY] * 20 + [bad, bad, skipped, bad]) == [(24, "grad_norm_spike", "watch")]


def test_alerts_say_what_was_seen_what_is_usual_and_what_to_do() -> None:
    [(_, alert)] = alerts_of([HEALTHY] * 10 + [step_of(entropy=4.0)] * 3)
    assert alert.message == (
        "Policy entropy is 4, above 3 times the mean 1 of the first 10 steps, for 3 steps. Responses are turning into "
        "noise. Lower optimizer.learning_rate or the clip range, and resume from an earlier checkpoint."
    )


TROUBLED = (
    [step_of(entropy=1.0 + 0.01 * i, grad_norm=1.0 + i % 3) for i in range(14)]
    + [step_of(entropy=4.0, parse_ok_rate=0.3, within_group_std=0.01, success=0.1, grad_norm=40.0)] * 14
    + [DEAD] * 8
)


@pytest.mark.parametrize("interrupted_after", range(1, len(TROUBLED), 3))
def test_an_interrupted_run_raises_what_an_uninterrupted_one_does(interrupted_after: int) -> None:
    whole = alerts_of(TROUBLED)

    first = build_detectors(NO_STOP)
    before = alerts_of(TROUBLED[:interrupted_after], first)
    second = build_detectors(NO_STOP)
    second.load_state_dict(json.loads(json.dumps(first.state_dict())))
    after = alerts_of(TROUBLED[interrupted_after:], second, first=interrupted_after + 1)

    assert len(whole) >= 6
    assert before + after == whole


def test_an_empty_state_is_a_fresh_start() -> None:
    detectors = build_detectors(NO_STOP)
    detectors.load_state_dict({})
    assert alerts_of([HEALTHY] * 3, detectors) == []


def stop_of(steps: list[dict[str, float]], **limits: Any) -> list[str | None]:
    detectors = build_detectors(StopConfig(**({"collapsed_after": 0, "empty_filter_after": 0} | limits)))
    return [detectors.observe(number, metrics).stop for number, metrics in enumerate(steps, start=1)]


def test_a_dead_run_is_stopped_only_when_asked_for() -> None:
    assert stop_of([DEAD] * 50) == [None] * 50
    assert stop_of([DEAD, DEAD, HEALTHY, DEAD, DEAD, DEAD], collapsed_after=3)[:5] == [None] * 5
    assert stop_of([DEAD] * 3, collapsed_after=3)[2] == (
        "No trajectory succeeded and returns in every group were equal for 3 steps in a row."
    )


def test_a_solved_run_is_not_stopped_as_dead() -> None:
    solved = step_of(success=1.0, within_group_std=0.0)
    assert stop_of([solved] * 20, collapsed_after=3) == [None] * 20


def test_the_reason_names_a_broken_format() -> None:
    stop = stop_of([DEAD | {"rollout/parse_ok_rate": 0.03}] * 2, collapsed_after=2)[1]
    assert stop is not None
    assert "3% of responses are well-formed" in stop


def test_a_filter_that_keeps_nothing_stops_the_run_after_so_many_steps() -> None:
    empty = step_of(kept_groups=0.0)
    assert stop_of([empty, empty, HEALTHY, empty, empty, empty], empty_filter_after=3) == [None] * 5 + [
        "The filter kept no group for 3 steps in a row, so there was nothing to train on."
    ]


def test_a_resumed_run_goes_on_counting_the_steps_before_a_stop() -> None:
    empty, conditions = step_of(kept_groups=0.0), StopConfig(empty_filter_after=3)
    first, resumed = (build_detectors(conditions) for _ in range(2))
    assert [first.observe(step, empty).stop for step in (1, 2)] == [None, None]
    resumed.load_state_dict(json.loads(json.dumps(first.state_dict())))
    assert resumed.observe(3, empty).stop is not None


LARGEST = 1.7976931348623157e308


@pytest.mark.parametrize(
    ("value", "kept", "words"),
    [
        (math.inf, LARGEST, "the value was infinite"),
        (-math.inf, -LARGEST, "the value was negative infinity"),
        (math.nan, 0.0, "the value was not a number"),
    ],
)
def test_an_alert_of_what_is_no_number_is_an_event_that_can_be_read_and_says_so(
    tmp_path: Path, value: float, kept: float, words: str
) -> None:
    draft = AlertDraft(rule="kl", severity="critical", message="KL exploded.", metric="policy/kl", value=value)
    EventLog(tmp_path / "events.jsonl", attempt=1, epoch=0).emit(draft.event(3))
    [line] = (tmp_path / "events.jsonl").read_bytes().splitlines()
    recorded = parse_event(line)
    assert isinstance(recorded, AlertRaised)
    assert (recorded.value, recorded.baseline) == (kept, None)
    assert recorded.message == f"KL exploded. ({words[0].upper()}{words[1:]}.)"


def test_an_alert_that_compares_with_what_is_no_number_says_both() -> None:
    draft = AlertDraft(
        rule="spike", severity="warn", message="It rose.", metric="x/y", value=math.inf, baseline=math.nan
    )
    recorded = draft.event(3)
    assert (recorded.value, recorded.baseline) == (LARGEST, 0.0)
    assert recorded.message == "It rose. (The value was infinite and the baseline was not a number.)"
    plain = replace(draft, value=2.0, baseline=1.0).event(3)
    assert (plain.value, plain.baseline, plain.message) == (2.0, 1.0, "It rose.")
