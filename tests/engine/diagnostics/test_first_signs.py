"""Where trouble began, over all rules: what a fork starts before, and which checkpoints must not be removed."""

from __future__ import annotations

import json

import pytest

from engine.diagnostics.history_rules import GROUPS
from tests.engine.diagnostics.test_rule_kinds import ENTROPY, KL, MI, SUCCESS, alerts, detectors, rule, verdicts


def test_a_sign_that_no_alert_has_reported_yet_already_counts() -> None:
    watching = detectors(rule(steps=3))
    verdicts(watching, [{KL: value} for value in (0.0, 0.2, 0.2)])
    assert watching.first_sign(3) == 2


def test_without_an_open_sign_the_newest_step_is_good() -> None:
    watching = detectors(rule(steps=1, recovery=1))
    verdicts(watching, [{KL: value} for value in (0.2, 0.0)])
    assert watching.first_sign(2) == 3


def test_the_sign_of_one_rule_moves_the_fork_of_another_to_before_both() -> None:
    early, late = rule(name="early", steps=2), rule(name="late", metric=SUCCESS, kind="below", steps=1, action="fork")
    steps = [{KL: 0.0, SUCCESS: 0.5}, {KL: 0.2, SUCCESS: 0.5}, {KL: 0.2, SUCCESS: 0.5}, {KL: 0.2, SUCCESS: 0.0}]
    [*_, last] = verdicts(detectors(early, late), steps)
    assert (last.alerts[0].rule, last.alerts[0].since, last.fork_before) == ("late", 4, 2)


def test_a_metric_that_few_steps_have_may_have_changed_right_after_its_last_good_reading() -> None:
    one = rule(kind="falls", metric=MI, limit=0.6, baseline=1, steps=1)
    steps = [{MI: 0.9}, {}, {}, {MI: 0.9}, {}, {}, {MI: 0.1}]
    [(number, alert)] = alerts(detectors(one), steps)
    assert (number, alert.since) == (7, 5)


@pytest.mark.parametrize(("kl_from", "first"), [(3, 3), (5, 5), (2, 2), (6, 3)])
def test_a_sign_between_two_readings_began_with_another_that_every_step_can_show(kl_from: int, first: int) -> None:
    """MI is good at step 2 and bad at step 5, so it fell at 3, 4 or 5. A KL that rises later does not date it."""
    mi = rule(name="mi", kind="falls", metric=MI, limit=0.6, baseline=1, steps=1)
    watching = detectors(mi, rule(steps=1))
    readings = {1: 0.9, 2: 0.9, 5: 0.1}
    steps = [{KL: 0.2 * (step >= kl_from)} | ({MI: readings[step]} if step in readings else {}) for step in range(1, 7)]
    found = [alert for one in verdicts(watching, steps) for alert in one.alerts]
    assert watching.first_sign(6) == first
    fell = next(alert for alert in found if alert.rule == "mi")
    assert (fell.since, fell.fork_before) == (3, first)


def test_a_fall_from_the_best_began_after_the_best() -> None:
    # means of two: 0.8 at step 3, then 0.7, 0.45, 0.3, which is below half of 0.8
    one = rule(kind="falls_from_best", metric=SUCCESS, limit=0.5, window=2, mean_over=2, steps=1)
    [(number, alert)] = alerts(detectors(one), [{SUCCESS: value} for value in (0.6, 0.8, 0.8, 0.6, 0.3, 0.3)])
    assert (number, alert.since) == (6, 4)


@pytest.mark.parametrize(("groups", "first"), [(8, 3), (800, 2)])
def test_a_fall_within_the_noise_of_few_groups_is_no_sign(groups: int, first: int) -> None:
    """From 0.2 to 0.05: with 8 groups the 99% intervals are [0.03, 0.64] and [0.003, 0.50], with 800 [0.17, 0.24] and
    [0.03, 0.07]."""
    one = rule(kind="falls_from_best", metric=SUCCESS, limit=0.5, window=1, steps=1, beyond_noise=True)
    watching = detectors(one)
    verdicts(watching, [{SUCCESS: value, GROUPS[0]: groups} for value in (0.2, 0.05)])
    assert watching.first_sign(2) == first


def test_watch_is_no_sign_that_a_checkpoint_is_spoilt() -> None:
    watching = detectors(rule(steps=1, severity="watch"))
    verdicts(watching, [{KL: 0.2}])
    assert watching.first_sign(1) == 2


def test_std_that_falls_because_problems_are_solved_is_no_sign_either() -> None:
    std = "reward/within_group_std"
    one = rule(kind="reward_std_collapsed", metric=std, limit=0.5, baseline=1, steps=1)
    for success, first in ((0.9, 4), (0.0, 2)):
        watching = detectors(one)
        verdicts(watching, [{std: value, SUCCESS: success} for value in (1.0, 0.1, 0.1)])
        assert watching.first_sign(3) == first


def test_a_sign_that_pauses_while_its_rule_fires_is_the_same_sign() -> None:
    watching = detectors(rule(steps=1, recovery=3))
    verdicts(watching, [{KL: value} for value in (0.0, 0.2, 0.0, 0.2)])
    assert watching.first_sign(4) == 2


def test_the_step_before_a_reading_that_may_be_bad_is_known_in_advance() -> None:
    """MI was good at step 4, so what the next reading finds may have begun at 5. KL is read at every step."""
    mi = rule(name="mi", kind="falls", metric=MI, limit=0.6, baseline=1, steps=1)
    watching = detectors(mi, rule(steps=1))
    verdicts(watching, [{MI: 0.9, KL: 0.0}, {KL: 0.0}, {KL: 0.0}, {MI: 0.9, KL: 0.0}, {KL: 0.0}, {KL: 0.0}])
    assert watching.may_begin(6) == {5, 7}


def test_a_fall_that_may_come_is_known_to_begin_after_the_best_steps() -> None:
    """The best mean of two is that of steps 2 and 3. What falls below half of it later is dated from step 4 on, so the
    checkpoint of step 3 is the last one before it, from the beginning."""
    watching = detectors(rule(name="fell", kind="falls_from_best", metric=SUCCESS, limit=0.5, window=2, steps=2))
    assert watching.may_begin(0) == {1}
    verdicts(watching, [{SUCCESS: value} for value in (0.4, 0.6, 0.6, 0.5)])
    assert watching.may_begin(4) == {4}
    found = verdicts(watching, [{SUCCESS: 0.2}, {SUCCESS: 0.1}], after=4)
    [alert] = [alert for one in found for alert in one.alerts]
    assert alert.since == 4


@pytest.mark.parametrize("metric", [KL, ENTROPY])
def test_signs_go_on_from_a_checkpoint(metric: str) -> None:
    one = rule(metric=metric, steps=3)
    first, second = detectors(one), detectors(one)
    verdicts(first, [{metric: 0.0}, {metric: 0.2}])
    second.load_state_dict(json.loads(json.dumps(first.state_dict())))
    verdicts(second, [{metric: 0.2}], after=2)
    assert second.first_sign(3) == 2
