"""The label of a run: lost success first, then format, lost updates, alerts and falls, and last the trend."""

from __future__ import annotations

import pytest

from engine.verdict.held_out import Evaluation, HeldOut
from engine.verdict.types import Severity
from tests.engine.verdict.steps import alert, assessor, steps, verdict_on


def test_there_is_no_verdict_before_the_first_step() -> None:
    assert assessor().verdict() is None


def test_rising_success_is_learning() -> None:
    # ten steps at 0.20, then ten at 0.50, without noise: the margin is its least, 0.02
    verdict = verdict_on(steps(*[0.2] * 10, *[0.5] * 10))
    assert (verdict.label, verdict.title, verdict.level) == ("learning", "Learning", "good")
    assert verdict.reason == "Training success rose by 0.30 ± 0.02 since the start."
    assert verdict.summary == (
        "Training success 0.20 → 0.50 · within-group reward std healthy (0.40) · 100.0% well-formed responses"
    )


def test_constant_success_is_flat() -> None:
    assert verdict_on(steps(*[0.3] * 30)).label == "flat"


def test_until_a_trend_can_be_read_it_is_too_early_to_tell() -> None:
    assert verdict_on(steps(0.3)).reason == "A trend can be read from step 20 on."
    verdict = verdict_on(steps(*[0.3] * 19))
    assert (verdict.label, verdict.title, verdict.level) == ("too_early", "Too early to tell", "neutral")
    assert verdict.reason.endswith("(std 0.40), so updates have a signal; a trend can be read from step 20 on.")
    assert verdict_on(steps(*[0.3] * 19, std=0.0)).reason == "A trend can be read from step 20 on."
    assert verdict_on(steps(*[0.3] * 20)).label == "flat"


def test_a_rise_within_the_noise_is_not_learning() -> None:
    # means 0.30 and 0.34; each step is 0.1 to either side, a variance of 0.0111, so 2 x sqrt(2 x 0.0111 / 10) = 0.094
    verdict = verdict_on(steps(*[0.2, 0.4] * 5, *[0.24, 0.44] * 5))
    assert verdict.label == "flat"
    assert "by 0.04 ± 0.09" in verdict.reason


def test_the_first_and_the_newest_steps_of_the_summary_never_overlap() -> None:
    # of five steps two each: (0.46 + 0.44) / 2, and (0.41 + 0.39) / 2
    assert "Training success 0.45 → 0.40" in verdict_on(steps(0.46, 0.44, 0.1, 0.41, 0.39)).summary
    assert "Training success 0.46 → 0.40" in verdict_on(steps(0.46, 0.40)).summary
    assert verdict_on(steps(0.46)).summary.startswith("Training success 0.46 · ")


def test_a_significant_rise_of_held_out_success_is_learning_whatever_training_success_does() -> None:
    # 0.27, the lower end of the newest interval, is above 0.23
    evaluations = (Evaluation(0.23, 0.18, 0.29), Evaluation(0.33, 0.27, 0.39))
    verdict = verdict_on(steps(*[0.3] * 30), held_out=evaluations)
    assert verdict.label == "learning"
    # 0.27 to 0.39 is an interval of 0.12, so 0.06 to either side
    assert verdict.reason == "Held-out success is 0.33 ± 0.06, above 0.23 ± 0.05 in the first evaluation."
    assert "held-out 0.23 → 0.33 ± 0.06" in verdict.summary


def test_held_out_success_that_drops_beyond_its_interval_is_at_risk() -> None:
    # 0.34 - 0.53 = -0.19, and sqrt(0.08² + 0.09²) = 0.12
    evaluations = (Evaluation(0.53, 0.44, 0.62), Evaluation(0.34, 0.26, 0.42, 5))
    verdict = verdict_on(steps(*[0.3] * 10), held_out=evaluations)
    assert verdict.label == "at_risk"
    assert verdict.reason == "Held-out success is 0.34 ± 0.08, below 0.53 ± 0.09 in the first evaluation."
    # 0.45 - 0.53 = -0.08, less than sqrt(0.08² + 0.09²)
    within = (Evaluation(0.53, 0.44, 0.62), Evaluation(0.45, 0.37, 0.53, 5))
    assert verdict_on(steps(*[0.3] * 10), held_out=within).label == "too_early"


def test_held_out_success_is_compared_with_the_best_evaluation_too() -> None:
    rose = (Evaluation(0.4, 0.3, 0.5), Evaluation(0.7, 0.62, 0.78, 20), Evaluation(0.45, 0.36, 0.54, 40))
    verdict = verdict_on(steps(*[0.3] * 40), held_out=rose)
    assert verdict.reason == "Held-out success is 0.45 ± 0.09, below 0.70 ± 0.08 at its best, step 20."


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


def test_a_fall_from_the_best_window_is_at_risk_before_it_is_a_collapse() -> None:
    # of 16 groups x 5 steps the interval of 0.60 begins at 0.49; of 16 x 3 that of 0.33 ends at 0.47
    verdict = verdict_on(steps(*[0.6] * 10, *[0.33] * 3))
    assert verdict.label == "at_risk"
    assert verdict.reason == "Training success is 0.33 over steps 11 to 13, below 0.60 at its best (steps 1 to 5)."
    # that of 0.40 ends at 0.54
    assert verdict_on(steps(*[0.6] * 10, *[0.4] * 3)).label == "too_early"


def test_success_near_one_has_converged() -> None:
    assert verdict_on(steps(*[0.3] * 10, *[0.97] * 10)).label == "converged"


def test_success_below_half_of_its_best_is_collapsing_at_once_and_gone_is_collapsed() -> None:
    # means of three steps: 0.46, 0.31 and 0.16, which is below half of 0.60; then 0.02 x 3
    fall = [0.6] * 15 + [0.2] * 3 + [0.02] * 3
    found = [verdict_on(steps(*fall[:count])).label for count in range(15, 22)]
    assert found == ["too_early", "too_early", "at_risk", "collapsing", "collapsing", "collapsing", "collapsed"]
    collapsing = verdict_on(steps(*fall[:18]))
    assert collapsing.reason == (
        "Training success is 0.20 over steps 16 to 18 (limit 0.30, half of its best of 0.60 in steps 1 to 5)."
    )
    collapsed = verdict_on(steps(*fall))
    assert (collapsed.level, collapsed.reason) == (
        "dead", "Training success is 0.02 over steps 19 to 21 (0.60 at its best, steps 1 to 5)."
    )  # fmt: skip


def test_a_collapse_after_a_rise_goes_through_every_stage_in_order() -> None:
    # means of the newest three steps: 0.30 at step 25, 0.23 at 26, which is below half of 0.60, and 0.03 at 30
    course = [0.2] * 10 + [0.6] * 12 + [0.3] * 3 + [0.1] * 3 + [0.0] * 2
    watching = assessor()
    began: dict[str, int] = {}
    for step, one in enumerate(steps(*course), start=1):
        watching.add_step(step, one)
        verdict = watching.verdict()
        assert verdict is not None
        began.setdefault(verdict.label, step)
    stages = [("too_early", 1), ("learning", 20), ("at_risk", 25), ("collapsing", 26), ("collapsed", 30)]
    assert list(began.items()) == stages


def test_success_has_recovered_after_three_steps_above_half_of_its_best() -> None:
    gone = [0.6] * 10 + [0.0] * 5
    assert verdict_on(steps(*gone, 0.2, 0.2, 0.2)).label == "collapsed"
    assert verdict_on(steps(*gone, 0.4, 0.4)).label == "collapsed"
    # the mean of ten steps, (0.6 x 2 + 0.4 x 3) / 10, is still below the best
    assert verdict_on(steps(*gone, 0.4, 0.4, 0.4)).label == "at_risk"
    assert verdict_on(steps(*gone, *[0.6] * 8)).label == "flat"


def test_a_fall_that_small_batches_explain_is_none() -> None:
    # two groups: of 2 x 5 trials the interval of 0.60 begins at 0.31; of 2 x 3 that of 0.20 ends at 0.59
    fall = steps(*[0.6] * 15, *[0.2] * 3)
    assert verdict_on(fall).label == "collapsing"
    watching = assessor(groups=2)
    for step, one in enumerate(fall, start=1):
        watching.add_step(step, one)
    verdict = watching.verdict()
    assert verdict is not None
    assert verdict.label == "too_early"


def test_a_collapse_is_one_however_long_ago_the_best_steps_were() -> None:
    verdict = verdict_on(steps(*[0.2] * 10, *[0.8] * 10, *[0.06] * 600))
    assert verdict.label == "collapsing"
    assert "half of its best of 0.80 in steps 11 to 15" in verdict.reason
    assert verdict.summary.startswith("Training success 0.20 → 0.06")


def test_lost_success_without_signal_is_collapsed() -> None:
    verdict = verdict_on([*steps(*[0.4] * 10), *steps(*[0.0] * 10, std=0.0)])
    assert (verdict.label, verdict.level) == ("collapsed", "dead")
    assert verdict.reason.startswith("Training success has been 0 for 10 steps (0.40 at its best, steps 1 to 5), and")


def test_a_run_that_never_had_success_or_signal_has_no_signal() -> None:
    assert verdict_on(steps(*[0.0] * 10, std=0.0)).label == "no_signal"


@pytest.mark.parametrize("count", [5, 30])
def test_a_hard_start_whose_returns_differ_is_in_progress(count: int) -> None:
    verdict = verdict_on(steps(*[0.0] * count, std=0.2))
    assert verdict.label == "in_progress"
    assert verdict.reason.endswith("but returns within groups still differ.")
    assert verdict_on(steps(*[0.0] * count, std=0.2), ended=True).label == "flat"


def test_groups_that_differ_by_penalties_alone_still_have_a_signal() -> None:
    penalised = [{**one, "reward/within_group_score_std": 0.1} for one in steps(*[0.0] * 10, std=0.0)]
    assert verdict_on(penalised).label == "in_progress"


def test_lost_success_is_a_collapse_only_if_there_was_enough_to_lose() -> None:
    assert verdict_on(steps(*[0.4] * 4, *[0.0] * 10)).label == "collapsed"
    # under the 0.1 that a run must have reached; the first fall is beyond the intervals, the second is not
    fell = verdict_on(steps(*[0.08] * 4, *[0.0] * 10))
    assert (fell.label, fell.reason.partition(",")[2]) == ("at_risk", " below 0.08 at its best (steps 1 to 4).")
    none = verdict_on(steps(*[0.02] * 4, *[0.0] * 10))
    assert none.label == "at_risk"
    assert none.reason == "Training success has been 0 for 10 steps, though some trajectories succeeded before."


def test_a_broken_format_explains_lost_success_and_does_not_replace_it() -> None:
    # the last three steps parse at 20%, which is where success went
    verdict = verdict_on([*steps(*[0.4] * 10), *steps(0.0, 0.0, 0.0, parse=0.2)])
    assert verdict.label == "collapsed"
    assert verdict.reason.endswith("20% of responses are well-formed.")
    never = verdict_on(steps(*[0.0] * 4, parse=0.2))
    assert (never.label, never.reason) == ("broken_format", "20% of responses are well-formed (limit 50%).")


def test_a_vanished_reward_std_is_in_the_summary() -> None:
    # 0.01 is below a tenth of the 0.4 of the first steps
    verdict = verdict_on([*steps(*[0.2] * 10), *steps(*[0.5] * 10, std=0.01)])
    assert "within-group reward std near zero (0.01)" in verdict.summary


RISING = steps(*[0.2] * 10, *[0.5] * 10)


@pytest.mark.parametrize(
    ("severity", "label"),
    [("dead", "at_risk"), ("critical", "at_risk"), ("warn", "at_risk"), ("watch", "learning")],
)
def test_alerts_count_from_warn_on(severity: Severity, label: str) -> None:
    assert verdict_on(RISING, alerts=(alert(severity, step=20),)).label == label


def test_a_run_whose_every_update_is_skipped_is_at_risk_however_well_it_plays() -> None:
    played = steps(*[0.9] * 30)
    lost = [one | {"optim/skipped_updates": 2.0} for one in played]
    verdict = verdict_on(lost)
    assert verdict.label == "at_risk"
    assert verdict.reason == "None of the last 10 steps had a finite gradient: the policy is not updated."
    # one update of ten that succeeded, steps without any attempt, and two attempts alone are no such case
    for other in ([*lost[:-1], lost[-1] | {"optim/grad_norm": 1.0}], played, lost[:2] + played[2:]):
        assert "not updated" not in verdict_on(other).reason


def test_the_label_has_the_step_it_began_at() -> None:
    watching = assessor()
    since = []
    for step, one in enumerate(steps(*[0.6] * 25, *[0.0] * 10), start=1):
        watching.add_step(step, one)
        verdict = watching.verdict()
        assert verdict is not None
        since.append((verdict.label, verdict.since))
    # means of three steps: 0.4, 0.2, which is under half of 0.60, and 0
    assert since[18] == ("too_early", 1)
    assert since[24] == ("flat", 20)
    assert since[26] == ("collapsing", 27)
    assert since[27] == since[34] == ("collapsed", 28)


@pytest.mark.parametrize(
    ("successes", "running", "ended", "title"),
    [
        ([0.3] * 3, "too_early", "too_short", "Too short"),
        ([0.3], "too_early", "too_short", "Too short"),
        ([0.2] * 10 + [0.5] * 10, "learning", "learning", "Learned"),
        ([0.3] * 20, "flat", "flat", "Flat"),
        ([0.6] * 15 + [0.2] * 3, "collapsing", "degraded", "Degraded"),
        ([0.6] * 10 + [0.33] * 3, "at_risk", "degraded", "Degraded"),
        ([0.6] * 10 + [0.0] * 3, "collapsed", "collapsed", "Collapsed"),
    ],
)
def test_a_run_that_is_over_is_not_in_progress(successes: list[float], running: str, ended: str, title: str) -> None:
    assert verdict_on(steps(*successes)).label == running
    verdict = verdict_on(steps(*successes), ended=True)
    assert (verdict.label, verdict.title, verdict.ended) == (ended, title, True)


def test_the_reason_of_a_run_that_was_too_short_says_how_short() -> None:
    assert verdict_on(steps(*[0.3] * 3), ended=True).reason == "3 steps are too few for a trend, which needs 20."


def test_the_evidence_has_first_now_best_and_limits() -> None:
    # ten steps at 0.20, ten at 0.60, ten at 0.40: the best five in a row are at 0.60, half of which is 0.30
    evaluations = (Evaluation(0.2, 0.1, 0.3), Evaluation(0.5, 0.4, 0.6), Evaluation(0.4, 0.3, 0.5))
    verdict = verdict_on(steps(*[0.2] * 10, *[0.6] * 10, *[0.4] * 10), held_out=evaluations)
    success, std, parse, held_out = verdict.evidence
    assert (success.metric, success.first, success.now, success.best) == ("rollout/success", 0.2, 0.4, 0.6)
    assert success.limit == "collapsing below 0.30, half of its best; collapsed below 0.05"
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


def test_a_run_that_reports_no_success_is_not_taken_for_one_without_any() -> None:
    """As TRL does without a reward that counts as a success."""
    rewards = [{"reward/mean": 0.01 * step, "optim/grad_norm": 0.3} for step in range(40)]
    verdict = verdict_on(rewards)
    assert (verdict.label, verdict.summary) == ("in_progress", "")
    assert verdict.reason.startswith("Success is not reported")
