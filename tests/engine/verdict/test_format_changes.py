"""Format changes: which sign changed first, against the run's own start, for three steps in a row."""

from __future__ import annotations

import pytest

from engine.verdict.course import Metrics
from engine.verdict.format_changes import FormatTracker, baseline_steps


def response(length: float = 20, ok: float = 1.0, unknown: float = 0.0) -> Metrics:
    return {
        "rollout/response_tokens": length, "rollout/parse_ok_rate": ok, "rollout/invalid_action_rate": unknown,
        "rollout/parse/ok": ok, "rollout/parse/unknown_action": unknown, "rollout/parse/unclosed": 1 - ok - unknown,
    }  # fmt: skip


CALM = [response()] * 13


def tracked(steps: list[Metrics], total_steps: int = 50) -> FormatTracker:
    tracker = FormatTracker(total_steps)
    for step, metrics in enumerate(steps, start=1):
        tracker.add(step, metrics)
    return tracker


@pytest.mark.parametrize(("total_steps", "baseline"), [(4, 3), (15, 3), (40, 8), (50, 10), (10_000, 10)])
def test_the_baseline_is_a_fifth_of_a_short_run(total_steps: int, baseline: int) -> None:
    assert baseline_steps(total_steps) == baseline


def test_a_calm_run_has_no_changes() -> None:
    tracker = tracked(CALM)
    assert tracker.changes() == []
    assert tracker.summary() == (
        "No lasting change since the start. Now 100.0% of responses are well-formed, mean response length is 20 tokens."
    )


def test_a_short_start_says_from_when_changes_can_be_reported() -> None:
    # ten steps of baseline and three that differ
    assert tracked(CALM[:5]).summary().endswith("Changes can be reported from step 13 on.")


def test_two_steps_that_differ_are_no_lasting_change() -> None:
    # 31 is more than 1.5 x 20
    assert tracked([*CALM, response(31), response(31), response()]).changes() == []


def test_three_steps_that_differ_are_a_change_that_began_with_the_first() -> None:
    tracker = tracked([*CALM, *[response(31)] * 3])
    [change] = tracker.changes()
    assert (change.key, change.step, change.unit) == ("longer", 14, "tokens")
    assert (change.baseline, change.value, change.now, change.holds) == (20, 31, 31, True)
    assert tracker.summary().startswith("First, at step 14, responses became 50% longer (20 tokens → 31 tokens).")


def test_changes_come_in_the_order_in_which_they_began() -> None:
    tracker = tracked([*CALM, *[response(31)] * 3, *[response(31, ok=0.6, unknown=0.05)] * 3])
    longer, failures = tracker.changes()
    assert (longer.step, failures.key, failures.step) == (14, "parse_failures", 17)
    # 0.6 of responses are well-formed, so 0.4 are not; 0.35 are unclosed
    assert (failures.baseline, failures.value, failures.main_case) == (0.0, 0.4, "unclosed")
    assert "Then parse failures rose (step 17)." in tracker.summary()
    assert tracker.summary().endswith("Now 60.0% of responses are well-formed, mean response length is 31 tokens.")


def test_a_change_that_is_over_stays_with_its_present_value() -> None:
    [change] = tracked([*CALM, *[response(31)] * 3, response(21)]).changes()
    assert (change.now, change.holds) == (21, False)


def test_changes_at_the_same_step_are_reported_together() -> None:
    # the baseline of a run of 15 steps is its first three; 0.5 is below 0.9, and 0.5 over 0 by more than 0.1
    early = tracked([*[response()] * 3, *[response(ok=0.5, unknown=0.5)] * 3], total_steps=15)
    assert [change.key for change in early.changes()] == ["parse_failures", "invalid_actions"]
    assert early.summary().startswith(
        "First, at step 4, parse failures rose (0.0% → 50.0%, mostly unknown action) and more responses named"
    )


@pytest.mark.parametrize(
    ("metric", "start", "within", "beyond", "key"),
    [
        ("rollout/response_tokens", 30.0, 20.0, 19.9, "shorter"),  # 30 / 1.5 = 20
        ("rollout/response_tokens_p95", 40.0, 60.0, 60.1, "long_tail"),
        ("rollout/cut_off_rate", 0.0, 0.05, 0.051, "cut_off"),
        ("rollout/parse_ok_rate", 1.0, 0.9, 0.899, "parse_failures"),
        ("rollout/invalid_action_rate", 0.0, 0.1, 0.101, "invalid_actions"),
        ("rollout/turns", 4.0, 5.0, 5.01, "more_turns"),  # 4 x 1.25 = 5
        ("rollout/turns", 4.0, 3.2, 3.19, "fewer_turns"),  # 4 / 1.25 = 3.2
    ],
)
def test_each_sign_has_its_limit(metric: str, start: float, within: float, beyond: float, key: str) -> None:
    assert tracked([*[{metric: start}] * 10, *[{metric: within}] * 3]).changes() == []
    [change] = tracked([*[{metric: start}] * 10, *[{metric: beyond}] * 3]).changes()
    assert change.key == key
