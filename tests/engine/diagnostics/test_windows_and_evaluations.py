"""Rules that judge a mean of the last values, rules over held-out evaluations, and where trouble began."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from engine.config import DetectorsConfig
from engine.diagnostics.held_out import held_out_metrics
from engine.diagnostics.recordings import Recording, read_recording, replay
from engine.events import EvaluationCompleted
from tests.engine.diagnostics.test_detect import event
from tests.engine.diagnostics.test_rule_kinds import KL, SUCCESS, alerts, detectors, fired, rule

HELD_OUT = "eval/success"


def test_a_mean_over_three_values_forgives_one_odd_step_and_needs_three_to_begin() -> None:
    # means of three from step 3 on: 0.5, 0.1 + 0.2/3 = 0.17, 0.1, 0.03; over 0.15 are the first two
    values = [0.5, 0.5, 0.5, 0.0, 0.0, 0.0]
    assert fired(rule(limit=0.15, steps=1), values) == [1]
    assert fired(rule(limit=0.15, steps=2, mean_over=3), values) == [4]
    assert fired(rule(limit=0.15, steps=1, mean_over=3), [0.0, 0.4, 0.0, 0.0]) == []


def test_a_change_is_judged_between_means() -> None:
    # means of two: 1.0, 1.0, 0.6, 0.2; the baseline is that of the first two, 1.0, so under 0.5 is the last
    one = rule(kind="falls", limit=0.5, baseline=2, steps=1, mean_over=2)
    assert fired(one, [1.0, 1.0, 1.0, 0.2, 0.2]) == [5]
    [(_, alert)] = alerts(detectors(one), [{KL: value} for value in (1.0, 1.0, 1.0, 0.2, 0.2)])
    assert alert.value == pytest.approx(0.2)
    assert "is 0.2 (mean of 2 steps), below 0.5 times the mean 1 of the first 2 steps" in alert.message


def test_a_mean_goes_on_from_a_checkpoint() -> None:
    one = rule(limit=0.15, steps=1, mean_over=3)
    first, second = detectors(one), detectors(one)
    alerts(first, [{KL: 0.3}, {KL: 0.3}])
    second.load_state_dict(json.loads(json.dumps(first.state_dict())))
    assert [number for number, _ in alerts(second, [{KL: 0.3}])] == [1]


def test_an_alert_says_where_the_trouble_began() -> None:
    steps = [{KL: value} for value in (0.0, 0.2, 0.0, 0.2, 0.2, 0.2)]
    [(number, alert)] = alerts(detectors(rule(steps=3)), steps)
    assert (number, alert.since) == (6, 4)


def test_held_out_success_is_of_all_episodes_together() -> None:
    settings: Any = {"step": 0, "first_seed": 1, "temperature": 1.0, "seconds": 1.0}
    lake = EvaluationCompleted(
        environment="lake", episodes=10, successes=1, success=0.1, low=0.0, high=0.4, mean_return=0.1, **settings
    )
    box = EvaluationCompleted(
        environment="box", episodes=30, successes=15, success=0.5, low=0.3, high=0.7, mean_return=2.0, **settings
    )
    found = held_out_metrics([lake, box])
    assert found[HELD_OUT] == pytest.approx(16 / 40)
    assert (found["eval/lake/success"], found["eval/box/return"], found["eval/box/success_low"]) == (0.1, 2.0, 0.3)


def test_a_held_out_rule_reads_evaluations_only_and_no_stop_counts_them() -> None:
    watching = detectors(rule(metric=HELD_OUT, kind="below", limit=0.3, steps=2))
    watching.stops["zero_signal"].limit = 2
    dead = {SUCCESS: 0.0, "reward/within_group_std": 0.0}
    assert watching.observe(1, dead).stop is None
    assert watching.observe_evaluation(1, {HELD_OUT: 0.1}).alerts == []
    assert watching.observe(2, dead).stop is not None  # the evaluation between was no step with a signal
    [alert] = watching.observe_evaluation(2, {HELD_OUT: 0.1}).alerts
    assert (alert.value, alert.since) == (0.1, 1)
    assert alert.message.startswith("Held-out success is 0.1, below 0.3 for 2 readings")


def test_a_recording_is_replayed_with_its_evaluations_in_order(tmp_path: Path) -> None:
    recording = Recording(
        name="r",
        steps=[(1, {KL: 0.0}), (2, {KL: 0.2})],
        evaluations=[(0, {HELD_OUT: 0.5}), (2, {HELD_OUT: 0.1})],
    )
    rules = (rule(steps=1), rule(name="held", metric=HELD_OUT, kind="below", limit=0.3, steps=1))
    found = replay(recording, DetectorsConfig(rules=rules))
    assert [(one.step, one.alert.rule) for one in found] == [(2, "mine"), (2, "held")]


def test_evaluations_of_a_run_directory_are_read_and_those_taken_again_count_once(tmp_path: Path) -> None:
    started = {"total_steps": 9, "pid": 1, "device": "cpu", "model": "tiny", "parameters": 1}
    result = {"environment": "lake", "episodes": 2, "low": 0.0, "high": 1.0, "mean_return": 0.0}
    result |= {"first_seed": 1, "temperature": 1.0, "seconds": 1.0}
    lines = [
        event(1, "run_started", 0, **started),
        event(2, "evaluation_completed", 0, successes=1, success=0.5, **result),
        event(3, "step_completed", 1, metrics={KL: 0.1}, tokens=1, seconds=1.0),
        event(4, "evaluation_completed", 1, successes=0, success=0.0, **result),
        event(5, "run_started", 0, resumed_from=0, **started),
        event(6, "step_completed", 1, metrics={KL: 0.1}, tokens=1, seconds=1.0),
        event(7, "evaluation_completed", 1, successes=2, success=1.0, **result),
    ]
    (tmp_path / "events.jsonl").write_text("\n".join(lines) + "\n")
    found = read_recording(tmp_path).evaluations
    assert [(step, metrics[HELD_OUT]) for step, metrics in found] == [(0, 0.5), (1, 1.0)]


def test_a_fork_is_asked_for_from_before_the_trouble_and_goes_before_a_stop() -> None:
    stops = rule(name="stops", steps=1, action="stop")
    forks = rule(name="forks", steps=2, action="fork")
    assert detectors(stops).observe(1, {KL: 1.0}).fork_before is None
    watching = detectors(rule(name="early", steps=2, action="stop"), forks)
    assert watching.observe(7, {KL: 1.0}).stop is None
    verdict = watching.observe(8, {KL: 1.0})
    assert verdict.fork_before == 7
    assert verdict.stop is not None and verdict.stop.startswith("forks: ")
    assert verdict.stop.endswith("A fork from before step 7 is requested; without a site the run only ends.")
