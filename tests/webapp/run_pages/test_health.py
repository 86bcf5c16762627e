"""Health is one word with a reason: the state first, then the format, then success and its spread, then alerts."""

from __future__ import annotations

import pytest

from webapp.run_pages.health import Course, Health, HeldOut, Metrics, health_of
from webapp.runs.states import RESTARTING, RunState


def steps(*successes: float, spread: float = 0.4, parse: float = 1.0) -> list[Metrics]:
    return [
        {"rollout/success": one, "reward/within_group_std": spread, "rollout/parse_ok_rate": parse} for one in successes
    ]


def running(metrics: list[Metrics], *severities: str) -> Health:
    return health_of(RunState.RUNNING, Course.of(metrics), list(severities))


def test_a_waiting_run_says_for_what() -> None:
    judged = health_of(RunState.QUEUED, Course.of([]), [], waits_for="Second in line.")
    assert (judged.word, judged.sentence) == ("Waiting", "Second in line.")


def test_a_run_that_loads_says_what_it_waits_for() -> None:
    judged = health_of(RunState.RUNNING, Course.of([]), [], waits_for="needs 4 GPUs, 2 free of 8")
    assert (judged.word, judged.sentence) == ("Waiting", "needs 4 GPUs, 2 free of 8")


@pytest.mark.parametrize("state", [RunState.FAILED, RunState.CRASHED])
def test_a_run_that_broke_says_why_whatever_it_had_learned(state: RunState) -> None:
    judged = health_of(state, Course.of(steps(*[0.9] * 30)), [], reason="The disk is full.")
    assert (judged.word, judged.sentence) == (state.capitalize(), "The disk is full.")


def test_a_run_that_goes_on_after_a_fault_says_what_happened() -> None:
    judged = health_of(RESTARTING, Course.of(steps(*[0.9] * 30)), [], reason="It was killed.")
    assert (judged.word, judged.sentence, judged.icon) == ("Restarting", "It was killed.", "restarting")


def test_before_the_first_step_there_is_nothing_to_judge() -> None:
    assert running([]).word == "Waiting"


def test_success_that_rises_is_learning_with_its_numbers() -> None:
    # ten steps at 0.20, then ten at 0.50
    judged = running(steps(*[0.2] * 10, *[0.5] * 10))
    assert judged.word == "Learning"
    assert "0.20 → 0.50" in judged.sentence
    assert "spread healthy (0.40)" in judged.sentence
    assert "100.0% of responses parse" in judged.sentence


def test_success_that_stays_is_flat() -> None:
    assert running(steps(*[0.3] * 30)).word == "Flat"


def test_a_rise_within_the_noise_is_not_called_learning() -> None:
    # means 0.30 and 0.34; each step is 0.1 to either side, a variance of 0.0111, so 2 x sqrt(2 x 0.0111 / 10) = 0.094
    judged = running(steps(*[0.2, 0.4] * 5, *[0.24, 0.44] * 5))
    assert judged.word == "Flat"
    assert "+0.04 ± 0.09" in judged.sentence


def test_held_out_success_that_is_clearly_up_is_learning_whatever_training_says() -> None:
    evaluations = [HeldOut(0.23, 0.18, 0.29), HeldOut(0.33, 0.27, 0.39)]  # 0.27 is above 0.23
    assert health_of(RunState.RUNNING, Course.of(steps(*[0.3] * 30)), [], held_out=evaluations).word == "Learning"


def test_a_clear_fall_is_a_risk_before_it_is_a_collapse() -> None:
    # from 0.60 to 0.40, more than half of the best, without noise: the margin is its least, 0.02
    judged = running(steps(*[0.6] * 10, *[0.4] * 10))
    assert judged.word == "At risk"
    assert "fell by 0.20 ± 0.02" in judged.sentence


def test_success_near_one_has_converged() -> None:
    assert running(steps(*[0.3] * 10, *[0.97] * 10)).word == "Converged"


def test_success_that_halves_is_collapsing() -> None:
    # its best ten steps mean 0.60; the last ten mean 0.20, under half of that
    judged = running(steps(*[0.6] * 15, *[0.2] * 10))
    assert judged.word == "Collapsing"
    assert "from 0.60 to 0.20" in judged.sentence


def test_no_success_and_nothing_that_differs_is_dead() -> None:
    judged = running([*steps(*[0.4] * 10), *steps(*[0.0] * 10, spread=0.0)])
    assert judged.word == "Dead"
    assert "for 10 steps, and within no group anything differs" in judged.sentence


def test_a_hard_beginning_whose_returns_differ_is_not_dead() -> None:
    for count in (5, 30):
        judged = running(steps(*[0.0] * count, spread=0.2))
        assert (judged.key, judged.word) == ("running", "No success yet")
    assert "for 10 steps, but returns within groups still differ" in judged.sentence


def test_groups_that_differ_by_penalties_alone_still_teach() -> None:
    penalised = [{**one, "reward/within_group_score_std": 0.1} for one in steps(*[0.0] * 10, spread=0.0)]
    assert running(penalised).word == "No success yet"


def test_without_success_an_alert_is_said_first() -> None:
    assert running(steps(*[0.0] * 10), "warn").word == "At risk"


def test_success_that_is_lost_is_collapsing_though_returns_still_differ() -> None:
    # the first ten steps mean 0.16, the last ten 0; with the first ten at 0.04 too little was there to fall from
    assert running(steps(*[0.4] * 4, *[0.0] * 10)).word == "Collapsing"
    judged = running(steps(*[0.1] * 4, *[0.0] * 10))
    assert judged.word == "At risk"
    assert "though some did before" in judged.sentence


def test_responses_that_do_not_parse_are_said_first() -> None:
    # the last three steps parse at 20%, which explains the missing success
    judged = running([*steps(*[0.4] * 10), *steps(0.0, 0.0, 0.0, parse=0.2)])
    assert judged.word == "Broken format"
    assert "20% of responses parse" in judged.sentence


def test_a_spread_that_goes_is_named() -> None:
    # 0.01 is below a tenth of the 0.4 it began with: groups agree, and there is nothing to learn from
    judged = running([*steps(*[0.2] * 10), *steps(*[0.5] * 10, spread=0.01)])
    assert "spread gone (0.01)" in judged.sentence


@pytest.mark.parametrize(
    ("severity", "word"), [("dead", "At risk"), ("critical", "At risk"), ("warn", "At risk"), ("watch", "Learning")]
)
def test_an_alert_counts_from_a_warning_on(severity: str, word: str) -> None:
    assert running(steps(*[0.2] * 10, *[0.5] * 10), severity).word == word


def test_held_out_success_stands_beside_that_of_training() -> None:
    # 0.41 to 0.53 is an interval of 0.12, so 0.06 to either side
    evaluations = [HeldOut(0.23, 0.18, 0.29), HeldOut(0.47, 0.41, 0.53)]
    judged = health_of(RunState.RUNNING, Course.of(steps(*[0.2] * 10, *[0.5] * 10)), [], held_out=evaluations)
    assert "held-out 0.23 → 0.47 ± 0.06" in judged.sentence


def test_the_numbers_behind_the_words_are_told() -> None:
    # ten steps at 0.20, ten at 0.60, ten at 0.40: the best ten in a row are those at 0.60, half of which is 0.30
    judged = running(steps(*[0.2] * 10, *[0.6] * 10, *[0.4] * 10))
    success, spread, parse = judged.numbers
    assert success == ("rollout/success", "Training success", "0.20", "0.40", "0.60", success.limit)
    assert success.limit == "collapsing below 0.30, half of the best"
    # half and a tenth of the 0.40 that it began with
    assert spread.limit == "shrinking below 0.20, gone below 0.04"
    assert (parse.first, parse.now, parse.best) == ("1.00", "1.00", "1.00")


def test_a_run_without_steps_has_no_numbers() -> None:
    assert running([]).numbers == ()


def test_a_run_whose_every_update_is_skipped_is_at_risk_however_well_it_plays() -> None:
    played = steps(*[0.9] * 30)
    lost = [one | {"optim/skipped_updates": 2.0} for one in played]
    judged = running(lost)
    assert (judged.word, judged.icon) == ("At risk", "alert")
    assert judged.sentence.startswith("Nothing is learned: no gradient of 10 steps was finite.")
    # one update in ten steps that did go through, steps without any update, and a critic's alone are no such thing
    for other in ([*lost[:-1], lost[-1] | {"optim/grad_norm": 1.0}], played, lost[:2] + played[2:]):
        assert "Nothing is learned" not in running(other).sentence
