"""What a fork changes, by the signs that its parent showed."""

from __future__ import annotations

from typing import Any

import pytest

from engine.config import RunConfig, build_config
from engine.events import AlertRaised
from engine.rescue import Sign, remedies, signs_of, with_remedies


def config(**sections: Any) -> RunConfig:
    optimizer = {"learning_rate": 1e-3, "updates_per_step": 4}
    return build_config({"optimizer": optimizer, "environments": [{"kind": "frozen_lake"}], **sections})


def sign(metric: str, *, rule: str = "mine", rose: bool = True, since: int = 50) -> Sign:
    return Sign(rule=rule, metric=metric, rose=rose, since=since)


def changed(given: RunConfig, *signs: Sign) -> dict[str, Any]:
    return {one.field: one.new for one in remedies(given, signs)}


@pytest.mark.parametrize("metric", ["policy/kl", "optim/grad_norm", "rollout/parse_ok_rate", "rollout/success"])
def test_after_updates_that_were_too_large_each_moves_the_policy_less(metric: str) -> None:
    assert changed(config(), sign(metric)) == {
        "optimizer.learning_rate": 3e-4,
        "optimizer.updates_per_step": 2,
        "loss.clip_high": 0.2,
    }


@pytest.mark.parametrize(("since", "rate"), [(1, 1e-4), (10, 1e-4), (11, 3e-4)])
def test_a_rate_that_shows_a_sign_within_ten_steps_is_divided_by_ten(since: int, rate: float) -> None:
    signs = [sign("policy/entropy", rose=False, since=60), sign("policy/kl", since=since)]
    assert changed(config(), *signs)["optimizer.learning_rate"] == rate


def test_in_a_warm_up_it_is_the_rate_at_the_first_sign_that_was_too_high_and_the_warm_up_ends_there() -> None:
    """Of 25 steps up to 1e-2, step 5 has 2e-3, a tenth of which is 2e-4, and step 20 has 8e-3."""
    given = config(optimizer={"learning_rate": 1e-2, "warmup_steps": 25}, steps=40)
    early, late, after = (changed(given, sign("policy/kl", since=since)) for since in (5, 20, 25))
    assert (early["optimizer.learning_rate"], early["optimizer.warmup_steps"]) == (2e-4, 5)
    assert (late["optimizer.learning_rate"], late["optimizer.warmup_steps"]) == (2.4e-3, 20)
    assert after["optimizer.learning_rate"] == 3e-3 and "optimizer.warmup_steps" not in after


def test_a_rate_that_its_schedule_raises_stops_rising() -> None:
    """Sixteenfold in 40 steps is a factor of 4 in 20: 4e-4 there, and 1.2e-4 is 0.3 of it. One that falls goes on."""
    rising, falling = (
        config(optimizer={"learning_rate": 1e-4, "schedule": {"type": "exponential", "final_ratio": ratio}}, steps=40)
        for ratio in (16, 0.1)
    )
    found = changed(rising, sign("policy/kl", since=20))
    assert (found["optimizer.learning_rate"], found["optimizer.schedule"]) == (1.2e-4, {"type": "constant"})
    rate = {one.field: one for one in remedies(rising, [sign("policy/kl", since=20)])}["optimizer.learning_rate"]
    assert (rate.old, rate.then, rate.new) == (1e-4, 4e-4, 1.2e-4)
    found = changed(falling, sign("policy/kl", since=20))
    assert found["optimizer.learning_rate"] == 3e-5 and "optimizer.schedule" not in found


def test_a_fork_trains_at_no_higher_rate_than_its_checkpoint_was_saved_at() -> None:
    """Sixteenfold in 40 steps: 2e-4 at step 10, 8e-4 at step 30, of which 0.3 are 2.4e-4. A constant rate is one."""
    rising = config(optimizer={"learning_rate": 1e-4, "schedule": {"type": "exponential", "final_ratio": 16}}, steps=40)
    for given, start, rate in ((rising, 0, 2.4e-4), (rising, 10, 2e-4), (rising, 20, 2.4e-4), (config(), 10, 3e-4)):
        found = {one.field: one.new for one in remedies(given, [sign("policy/kl", since=30)], start=start)}
        assert found["optimizer.learning_rate"] == rate


def test_in_a_fork_a_rate_that_rises_is_that_of_all_steps_so_far() -> None:
    """Ten steps before the fork and 15 of it are 25 of 50 that take a rate of 1e-2 to its height."""
    start = {"start_from": {"run": "other", "step": 10, "steps_before": 10}}
    given = config(optimizer={"learning_rate": 1e-2, "warmup_steps": 50}, model=start, steps=50)
    found = changed(given, sign("policy/kl", since=15))
    assert (found["optimizer.learning_rate"], found["optimizer.warmup_steps"]) == (1.5e-3, 25)


def test_a_sign_of_held_out_success_does_not_say_when_the_rate_was_too_high_if_another_does() -> None:
    """Evaluated at steps 0 and 20, held-out success may have begun to fall at step 1, when the rate was 4e-4; KL was
    too high from step 15 on, at 6e-3."""
    given = config(optimizer={"learning_rate": 1e-2, "warmup_steps": 25}, steps=40)
    fell, kl = sign("eval/success", rule="held_out_fell", rose=False, since=1), sign("policy/kl", since=15)
    assert changed(given, fell, kl)["optimizer.learning_rate"] == 1.8e-3
    assert changed(given, kl, fell)["optimizer.learning_rate"] == 1.8e-3
    assert changed(given, fell)["optimizer.learning_rate"] == 4e-5


@pytest.mark.parametrize("metric", ["policy/kl", "collapse/mi_ratio"])
def test_repeated_passes_end_with_large_updates_and_a_large_entropy_bonus_with_all_but_lost_exploration(
    metric: str,
) -> None:
    given = config(optimizer={"learning_rate": 1e-3, "epochs": 4}, loss={"entropy_coefficient": 0.1})
    found = changed(given, sign(metric, rose=False))
    assert found["loss.entropy_coefficient"] == 0.001
    assert found.get("optimizer.epochs") == (1 if metric == "policy/kl" else None)
    assert "loss.entropy_coefficient" not in changed(given, sign("policy/entropy", rose=False))


def test_after_a_fall_of_entropy_the_policy_may_explore_more() -> None:
    loss = {"clip_high": 0.2, "entropy_coefficient": 0.0}
    assert changed(config(loss=loss), sign("policy/entropy", rose=False)) == {
        "optimizer.learning_rate": 3e-4,
        "loss.clip_high": 0.28,
        "loss.entropy_coefficient": 0.001,
    }


def test_a_rise_of_entropy_is_a_matter_of_large_updates() -> None:
    assert "optimizer.updates_per_step" in changed(config(), sign("policy/entropy"))


def test_thoughts_that_ignore_their_prompts_are_answered_by_a_filter() -> None:
    found = changed(config(), sign("collapse/mi_ratio", rose=False))
    assert (found["filter"]["type"], found["filter"]["value"]) == ("top_p", 0.9)


def test_a_filter_that_is_set_stays() -> None:
    filtered = config(filter={"type": "top_k", "value": 0.5})
    assert "filter" not in changed(filtered, sign("collapse/mi_ratio", rose=False))


def test_the_first_sign_decides_and_equal_changes_name_both_rules() -> None:
    kl, entropy = sign("policy/kl", rule="kl_high"), sign("policy/entropy", rule="entropy_low", rose=False)
    found = {one.field: one for one in remedies(config(), [kl, entropy])}
    assert found["optimizer.learning_rate"].because == ("kl_high", "entropy_low")
    assert (found["loss.clip_high"].new, found["loss.clip_high"].because) == (0.2, ("kl_high",))


def test_without_a_sign_the_updates_become_smaller() -> None:
    assert [one.because for one in remedies(config(), [])] == [(), (), ()]


def test_what_is_as_small_as_it_gets_is_not_changed() -> None:
    careful = config(optimizer={"learning_rate": 1e-3, "updates_per_step": 1}, loss={"clip_low": 0.1, "clip_high": 0.1})
    assert changed(careful, sign("policy/kl")) == {"optimizer.learning_rate": 3e-4}


def test_a_changed_configuration_is_whole_and_differs_only_there() -> None:
    given = config()
    after = with_remedies(given, remedies(given, [sign("policy/kl")]))
    assert (after.optimizer.learning_rate, after.optimizer.updates_per_step, after.loss.clip_high) == (3e-4, 2, 0.2)
    same = after.model_copy(update={"optimizer": given.optimizer, "loss": given.loss})
    assert same == given


def test_alerts_are_signs_once_for_each_rule_in_the_order_in_which_they_began() -> None:
    def alert(rule: str, since: int | None, *, step: int, value: float = 1.0, severity: Any = "warn") -> AlertRaised:
        return AlertRaised(
            step=step, rule=rule, severity=severity, message="", metric="x/y", value=value, baseline=0.5, since=since
        )

    alerts = [
        alert("late", 7, step=8),
        alert("early", 2, step=9, value=0.1),
        alert("early", 10, step=10),
        alert("unknown", None, step=5),
        alert("spike", 1, step=1, severity="watch"),
    ]
    assert [(one.rule, one.rose, one.since) for one in signs_of(alerts)] == [
        ("early", False, 2),
        ("unknown", True, 5),
        ("late", True, 7),
    ]
