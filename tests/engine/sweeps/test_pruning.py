"""Which configurations end early: below the median of the others at the same step with the same seeds, or collapsed."""

from __future__ import annotations

import pytest

from engine.sweeps.plan import Pruning
from engine.sweeps.pruning import means_by_step, newest_step, reason_to_end

PRUNING = Pruning(first=10, every=5, fewest=3)


def flat(value: float, last: int) -> dict[int, float]:
    return dict.fromkeys(range(1, last + 1), value)


def others(*values: float, last: int = 20, seeds: tuple[int, ...] = (1, 2)) -> dict[str, dict[int, dict[int, float]]]:
    return {f"other {value}": {seed: flat(value, last) for seed in seeds} for value in values}


@pytest.mark.parametrize(("last", "step"), [(9, None), (10, 10), (14, 10), (15, 15), (31, 30)])
def test_configurations_are_compared_at_set_steps(last: int, step: int | None) -> None:
    assert newest_step(flat(0.5, last), PRUNING) == step


def test_one_below_the_median_of_the_others_ends() -> None:
    # the median of 0.2, 0.4 and 0.6 is 0.4
    reason = reason_to_end("mine", {"mine": {1: flat(0.3, 12)}, **others(0.2, 0.4, 0.6)}, {}, PRUNING)
    assert reason == (
        "Below the median of 3 at step 10: training success 0.30 against 0.40 (seed 1, mean of the last 5 steps)."
    )
    assert reason_to_end("mine", {"mine": {1: flat(0.4, 12)}, **others(0.2, 0.4, 0.6)}, {}, PRUNING) == ""


def test_a_small_difference_is_written_with_the_digits_that_show_it() -> None:
    # 0.3994 and 0.4 are both 0.40, and 0.399 and 0.400 with three digits
    reason = reason_to_end("mine", {"mine": {1: flat(0.3994, 12)}, **others(0.2, 0.4, 0.6)}, {}, PRUNING)
    assert "training success 0.399 against 0.400 (" in reason


def test_only_the_last_steps_up_to_that_step_count() -> None:
    # 0 until step 5, then 0.5; what comes after step 10 is not compared at step 10
    late = {step: 0.0 if step <= 5 else 0.5 for step in range(1, 11)} | dict.fromkeys(range(11, 15), 0.0)
    assert reason_to_end("mine", {"mine": {1: late}, **others(0.2, 0.4, 0.6)}, {}, PRUNING) == ""


def test_too_few_others_at_that_step_end_nothing() -> None:
    curves = {"mine": {1: flat(0.0, 16)}, **others(0.5, 0.6), **others(0.7, last=14)}
    assert reason_to_end("mine", curves, {}, PRUNING) == ""  # at step 15 there are two


def test_it_is_compared_with_the_same_seeds() -> None:
    # with seeds 1 and 2 mine has 0.45, above the median 0.4; those that have seed 1 alone are not compared
    curves = {
        "mine": {1: flat(0.2, 10), 2: flat(0.7, 10)},
        **others(0.3, 0.4, 0.5),
        **others(0.9, 0.95, 0.99, seeds=(1,)),
    }
    assert reason_to_end("mine", curves, {}, PRUNING) == ""
    # with seed 1 alone it has 0.2 against the median of 0.3, 0.4, 0.5, 0.9, 0.95 and 0.99, which is 0.7
    del curves["mine"][2]
    assert reason_to_end("mine", curves, {}, PRUNING).startswith(
        "Below the median of 6 at step 10: training success 0.20 against 0.70 (seed 1,"
    )


def test_one_with_a_collapsed_run_ends_at_once() -> None:
    labels = {1: "learning", 2: "collapsed"}
    assert reason_to_end("mine", {}, labels, PRUNING) == "The run with seed 2 collapsed."
    assert reason_to_end("mine", {}, labels, Pruning(collapse=False)) == ""
    assert reason_to_end("mine", {}, {1: "collapsing"}, PRUNING) == ""


def test_means_at_each_step_of_comparison_are_over_the_seeds_that_reached_it() -> None:
    # at 10 both seeds: (0.2 + 0.6) / 2; at 15 only the second one
    assert means_by_step({1: flat(0.2, 12), 2: flat(0.6, 17)}, PRUNING) == {
        10: pytest.approx(0.4), 15: pytest.approx(0.6),
    }  # fmt: skip
