"""The label of a run: format first, then lost updates, lost success, alerts, and last the trend."""

from __future__ import annotations

import pytest

from engine.verdict.held_out import Evaluation, HeldOut
from tests.engine.verdict.steps import assessor, steps, verdict_on


def test_there_is_no_verdict_before_the_first_step() -> None:
    assert assessor().verdict() is None


def test_rising_success_is_learning() -> None:
    # ten steps at 0.20, then ten at 0.50, without noise: the margin is its least, 0.02
    verdict = verdict_on(steps(*[0.2] * 10, *[0.5] * 10))
    assert (verdict.label, verdict.title, verdict.level) == ("learning", "Learning", "good")
    assert verdict.reason == "Training success rose since the start (+0.30 ± 0.02)."
    assert verdict.summary == (
        "Training success 0.20 → 0.50 · within-group reward std healthy (0.40) · 100.0% well-formed responses"
    )


def test_constant_success_is_flat() -> None:
    assert verdict_on(steps(*[0.3] * 30)).label == "flat"


def test_fewer_than_twenty_steps_are_in_progress() -> None:
    assert verdict_on(steps(*[0.3] * 19)).label == "in_progress"
    assert verdict_on(steps(*[0.3] * 20)).label == "flat"


def test_a_rise_within_the_noise_is_not_learning() -> None:
    # means 0.30 and 0.34; each step is 0.1 to either side, a variance of 0.0111, so 2 x sqrt(2 x 0.0111 / 10) = 0.094
    verdict = verdict_on(steps(*[0.2, 0.4] * 5, *[0.24, 0.44] * 5))
    assert verdict.label == "flat"
    assert "(+0.04 ± 0.09)" in verdict.reason


def test_a_significant_rise_of_held_out_success_is_learning_whatever_training_success_does() -> None:
    # 0.27, the lower end of the newest interval, is above 0.23
    evaluations = (Evaluation(0.23, 0.18, 0.29), Evaluation(0.33, 0.27, 0.39))
    verdict = verdict_on(steps(*[0.3] * 30), held_out=evaluations)
    assert verdict.label == "learning"
    # 0.27 to 0.39 is an interval of 0.12, so 0.06 to either side
    assert "held-out 0.23 → 0.33 ± 0.06" in verdict.summary


def test_held_out_success_of_other_environments_does_not_count() -> None:
    watching = assessor()
    for step, one in enumerate(steps(*[0.3] * 30), start=1):
        watching.add_step(step, one)
    watching.add_evaluation("Bandit", Evaluation(0.1, 0.0, 0.2))
    watching.add_evaluation("Bandit", Evaluation(0.9, 0.8, 1.0))
    verdict = watching.verdict()
    assert verdict is not None
    assert verdict.label == "flat"
    assert "held-out" not in verdict.summary


def test_a_significant_fall_is_at_risk_before_it_is_a_collapse() -> None:
    # from 0.60 to 0.40, more than half of the best
    verdict = verdict_on(steps(*[0.6] * 10, *[0.4] * 10))
    assert verdict.label == "at_risk"
    assert verdict.reason == "Training success fell since the start (-0.20 ± 0.02)."


def test_success_near_one_has_converged() -> None:
    assert verdict_on(steps(*[0.3] * 10, *[0.97] * 10)).label == "converged"


def test_success_below_half_of_its_best_is_collapsing() -> None:
    # the best ten steps mean 0.60, the last ten 0.20
    verdict = verdict_on(steps(*[0.6] * 15, *[0.2] * 10))
    assert verdict.label == "collapsing"
    assert verdict.reason == "Training success fell from 0.60 to 0.20."


def test_a_collapse_is_one_however_long_ago_the_best_steps_were() -> None:
    verdict = verdict_on(steps(*[0.2] * 10, *[0.8] * 10, *[0.05] * 600))
    assert verdict.label == "collapsing"
    assert verdict.reason == "Training success fell from 0.80 to 0.05."
    assert verdict.summary.startswith("Training success 0.20 → 0.05")


def test_lost_success_without_signal_is_collapsed() -> None:
    verdict = verdict_on([*steps(*[0.4] * 10), *steps(*[0.0] * 10, std=0.0)])
    assert (verdict.label, verdict.level) == ("collapsed", "dead")
    assert verdict.reason.startswith("No trajectory has succeeded for 10 steps, and returns within every group are")


def test_a_run_that_never_had_success_or_signal_has_no_signal() -> None:
    assert verdict_on(steps(*[0.0] * 10, std=0.0)).label == "no_signal"


@pytest.mark.parametrize("count", [5, 30])
def test_a_hard_start_whose_returns_differ_is_in_progress(count: int) -> None:
    verdict = verdict_on(steps(*[0.0] * count, std=0.2))
    assert verdict.label == "in_progress"
    assert verdict.reason.endswith("but returns within groups still differ.")


def test_groups_that_differ_by_penalties_alone_still_have_a_signal() -> None:
    penalised = [{**one, "reward/within_group_score_std": 0.1} for one in steps(*[0.0] * 10, std=0.0)]
    assert verdict_on(penalised).label == "in_progress"


def test_lost_success_is_collapsing_only_if_there_was_enough_to_lose() -> None:
    # the first ten steps mean 0.16, the last ten 0
    assert verdict_on(steps(*[0.4] * 4, *[0.0] * 10)).label == "collapsing"
    # 0.04 is under the 0.1 that a run must have reached
    verdict = verdict_on(steps(*[0.1] * 4, *[0.0] * 10))
    assert verdict.label == "at_risk"
    assert "though some did before" in verdict.reason


def test_a_broken_format_comes_before_lost_success() -> None:
    # the last three steps parse at 20%, which explains the missing success
    verdict = verdict_on([*steps(*[0.4] * 10), *steps(0.0, 0.0, 0.0, parse=0.2)])
    assert verdict.label == "broken_format"
    assert verdict.reason == "Only 20% of responses are well-formed."


def test_a_vanished_reward_std_is_in_the_summary() -> None:
    # 0.01 is below a tenth of the 0.4 of the first steps
    verdict = verdict_on([*steps(*[0.2] * 10), *steps(*[0.5] * 10, std=0.01)])
    assert "within-group reward std near zero (0.01)" in verdict.summary


@pytest.mark.parametrize(
    ("severity", "label"),
    [("dead", "at_risk"), ("critical", "at_risk"), ("warn", "at_risk"), ("watch", "learning")],
)
def test_alerts_count_from_warn_on(severity: str, label: str) -> None:
    assert verdict_on(steps(*[0.2] * 10, *[0.5] * 10), alert=severity).label == label


def test_an_alert_comes_before_missing_success() -> None:
    verdict = verdict_on(steps(*[0.0] * 10), alert="warn")
    assert (verdict.label, verdict.reason) == ("at_risk", "An alert fired in the last 50 steps.")


def test_an_alert_counts_for_fifty_steps() -> None:
    watching = assessor()
    for step, one in enumerate(steps(*[0.2] * 10, *[0.6] * 80), start=1):
        watching.add_step(step, one)
        if step == 40:
            watching.add_alert(40, "critical")
            watching.add_alert(41, "watch")  # a later one of less severity changes nothing
        verdict = watching.verdict()
        assert verdict is not None
        # 40 > step - 50 up to step 89
        assert (verdict.label == "at_risk") == (40 <= step <= 89)


def test_the_label_has_the_step_it_began_at() -> None:
    watching = assessor()
    since = []
    for step, one in enumerate(steps(*[0.6] * 25, *[0.0] * 10), start=1):
        watching.add_step(step, one)
        verdict = watching.verdict()
        assert verdict is not None
        since.append((verdict.label, verdict.since))
    # flat from step 20; ten steps with n zeros mean 0.06 x (10 - n): a fall past the margin shows at the first zeros,
    # and under half of the best, 0.30, at the sixth zero
    assert since[18] == ("in_progress", 1)
    assert since[24] == ("flat", 20)
    assert since[30] == ("collapsing", 31)
    assert since[34] == ("collapsing", 31)


def test_an_alert_after_its_step_belongs_to_that_step() -> None:
    watching = assessor()
    for step, one in enumerate(steps(*[0.3] * 24), start=1):
        watching.add_step(step, one)
        if step >= 22:
            watching.add_alert(step, "warn")
    verdict = watching.verdict()
    assert verdict is not None
    assert (verdict.label, verdict.since) == ("at_risk", 22)


def test_a_run_whose_every_update_is_skipped_is_at_risk_however_well_it_plays() -> None:
    played = steps(*[0.9] * 30)
    lost = [one | {"optim/skipped_updates": 2.0} for one in played]
    verdict = verdict_on(lost)
    assert verdict.label == "at_risk"
    assert verdict.reason == "The policy is not updated: no gradient of the last 10 steps was finite."
    # one update of ten that succeeded, steps without any attempt, and two attempts alone are no such case
    for other in ([*lost[:-1], lost[-1] | {"optim/grad_norm": 1.0}], played, lost[:2] + played[2:]):
        assert "not updated" not in verdict_on(other).reason


def test_the_evidence_has_first_now_best_and_limits() -> None:
    # ten steps at 0.20, ten at 0.60, ten at 0.40: the best ten in a row are those at 0.60, half of which is 0.30
    evaluations = (Evaluation(0.2, 0.1, 0.3), Evaluation(0.5, 0.4, 0.6), Evaluation(0.4, 0.3, 0.5))
    verdict = verdict_on(steps(*[0.2] * 10, *[0.6] * 10, *[0.4] * 10), held_out=evaluations)
    success, std, parse, held_out = verdict.evidence
    assert (success.metric, success.first, success.now, success.best) == ("rollout/success", 0.2, 0.4, 0.6)
    assert success.limit == "collapsing below 0.30, half of the best"
    # half and a tenth of the 0.40 that it began with
    assert std.limit == "shrinking below 0.20, near zero below 0.04"
    assert (parse.first, parse.now, parse.best) == (1.0, 1.0, 1.0)
    assert (held_out.first, held_out.now, held_out.best, held_out.low, held_out.high) == (0.2, 0.4, 0.5, 0.3, 0.5)


def test_held_out_success_has_risen_when_the_interval_of_the_difference_is_above_0() -> None:
    first = Evaluation(0.52, 0.46, 0.58)
    # 0.12 - sqrt(0.06² + 0.06²) = 0.035, and 0.07 - 0.085 = -0.015
    for newest, has_risen in ((Evaluation(0.64, 0.58, 0.70), True), (Evaluation(0.59, 0.53, 0.65), False)):
        held_out = HeldOut()
        held_out.add(first)
        assert not held_out.has_risen
        held_out.add(newest)
        assert held_out.has_risen is has_risen
