"""The estimator on numbers worked out by hand, its identities, and controls whose answer is known."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from engine.diagnostics.mutual_information import MutualInformation, SmoothedZScore, estimate

PER_TOKEN = np.array([[-1, -1.5], [-1.1, -1.3], [-1.4, -0.9], [-1.2, -1.2]])
EXAMPLE = estimate(10 * PER_TOKEN, [10] * 4, [0, 0, 1, 1])


def test_the_sequence_estimate_of_the_worked_example() -> None:
    # L = 10 * per token. marginal_1 = ln((e^-10 + e^-15) / 2) = -10.6865, ...
    assert EXAMPLE.mi == pytest.approx(0.4848, abs=1e-4)
    assert EXAMPLE.conditional_entropy == pytest.approx((10 + 11 + 9 + 12) / 4)
    assert EXAMPLE.reasoning_entropy == pytest.approx(10.985, abs=1e-3)
    assert EXAMPLE.zscore == pytest.approx(0.546, abs=1e-3)
    assert EXAMPLE.ceiling == pytest.approx(math.log(2))


def test_the_per_token_numbers_of_the_worked_example() -> None:
    assert EXAMPLE.mi_token_compat == pytest.approx(0.1333, abs=1e-4)
    assert EXAMPLE.conditional_entropy_token == pytest.approx(1.05)
    assert EXAMPLE.reasoning_entropy_token_compat == pytest.approx(1.1833, abs=1e-4)
    assert EXAMPLE.zscore_token_compat == pytest.approx(3.405, abs=1e-3)


def test_a_tie_in_retrieval_goes_to_the_first_column() -> None:
    # rows 1 to 3 are likeliest under their own prompt; row 4 ties, and column 0 is not its own
    assert (EXAMPLE.retrieval_accuracy, EXAMPLE.retrieval_chance) == (0.75, 0.5)


@given(
    scores=arrays(np.float64, (7, 4), elements=st.floats(-200, -0.01)),
    columns=st.lists(st.integers(0, 3), min_size=7, max_size=7),
)
def test_reasoning_entropy_is_conditional_entropy_plus_mi_which_cannot_pass_ln_n(
    scores: np.ndarray[tuple[int, int], np.dtype[np.float64]], columns: list[int]
) -> None:
    found = estimate(scores, [3] * 7, columns)
    assert found.reasoning_entropy == pytest.approx(found.conditional_entropy + found.mi, abs=1e-9)
    assert found.mi <= found.ceiling + 1e-9


def control(
    dependence: float, *, tokens: int = 20, words: int = 50, count: int = 8, each: int = 8
) -> MutualInformation:
    """Thoughts of a known language: each word is the prompt's own with chance `dependence`, else any of `words`."""
    chooser = np.random.default_rng(7)
    own = chooser.permutation(words)[:count]  # the prompt's word
    columns = np.repeat(np.arange(count), each)
    copies = chooser.random((count * each, tokens)) < dependence
    thoughts = np.where(copies, own[columns][:, None], chooser.integers(0, words, (count * each, tokens)))
    chances = (1 - dependence) / words + dependence * (thoughts[:, :, None] == own[None, None, :])
    return estimate(np.log(chances).sum(axis=1), [tokens] * len(columns), columns)


def test_templates_have_no_mutual_information_and_retrieval_at_chance_though_entropy_is_high() -> None:
    found = control(0.0)
    assert found.mi == pytest.approx(0.0, abs=1e-9)
    assert found.conditional_entropy == pytest.approx(20 * math.log(50))
    assert found.retrieval_accuracy == found.retrieval_chance == 1 / 8  # all tied: the first column's own


def test_thoughts_that_copy_their_prompt_reach_the_ceiling_and_are_all_retrieved() -> None:
    found = control(0.9)
    assert found.mi == pytest.approx(math.log(8), abs=1e-3)
    assert found.to_metrics()["collapse/mi_ratio"] == pytest.approx(1.0, abs=1e-3)
    assert found.retrieval_accuracy == 1.0


def test_mutual_information_grows_with_dependence() -> None:
    amounts = [control(dependence, tokens=4).mi for dependence in (0.0, 0.1, 0.3, 0.6)]
    assert amounts == sorted(amounts)
    assert amounts[0] < 0.05 < 0.5 < amounts[-1]


def test_equal_prompts_count_as_one_answer() -> None:
    # column 1 repeats column 0: the first thought is likeliest under column 1, which is the same prompt
    scores = [[-2.0, -1.0, -5.0], [-5.0, -5.0, -1.0]]
    prompts = [(1, 2), (1, 2), (3, 4)]
    found = estimate(scores, [1, 1], [0, 2], prompts)
    assert found.retrieval_accuracy == 1.0
    assert found.retrieval_chance == pytest.approx((2 / 3 + 1 / 3) / 2)
    assert estimate(scores, [1, 1], [0, 2]).retrieval_accuracy == 0.5


def test_scores_far_below_0_do_not_underflow() -> None:
    found = estimate([[-10_000.0, -20_000.0]], [100], [0])
    assert found.mi == pytest.approx(math.log(2))


def test_a_prompt_that_rules_a_thought_out_counts_as_probability_0() -> None:
    assert estimate([[-3.0, -math.inf]], [2], [0]).mi == pytest.approx(math.log(2))


def test_tensors_are_taken_as_they_are() -> None:
    found = estimate(torch.tensor([[-1.0, -9.0], [-9.0, -1.0]]), torch.tensor([1, 1]), torch.tensor([0, 1]))
    # ln 2 - ln(1 + e^-8)
    assert found.mi == pytest.approx(math.log(2) - math.log1p(math.exp(-8)))


def test_metrics_carry_the_sizes_that_the_ceiling_depends_on() -> None:
    metrics = EXAMPLE.to_metrics()
    assert (metrics["collapse/samples"], metrics["collapse/prompts"]) == (4.0, 2.0)
    assert metrics["collapse/mi_ratio"] == pytest.approx(EXAMPLE.mi / math.log(2))
    assert metrics["collapse/retrieval_above_chance"] == 0.25
    assert all(math.isfinite(value) for value in metrics.values())


@pytest.mark.parametrize(
    ("scores", "lengths", "columns", "signatures", "message"),
    [
        ([[-1.0]], [1], [0], None, "N >= 2"),
        (np.zeros((0, 3)), [], [], None, "M >= 1"),
        ([[-1.0, -2.0]], [0], [0], None, "leave empty reasonings out"),
        ([[-1.0, -2.0]], [1, 1], [0], None, "one entry for each of 1 reasonings"),
        ([[-1.0, -2.0]], [1], [2], None, "between 0 and 1"),
        ([[-1.0, -2.0]], [1], [0], ["a"], "1 entries for 2 prompts"),
    ],
)
def test_what_cannot_be_estimated_is_refused(
    scores: object, lengths: list[int], columns: list[int], signatures: list[str] | None, message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        estimate(scores, lengths, columns, signatures)


def test_retrieval_among_several_counts_the_own_prompt_anywhere_in_the_top() -> None:
    # ranks of the own column (0): first, second, third of three
    scores = [[-1.0, -2.0, -3.0], [-2.0, -1.0, -3.0], [-3.0, -2.0, -1.0]]
    found = estimate(scores, [1, 1, 1], [0, 0, 0])
    assert found.retrieval_accuracy == pytest.approx(1 / 3)
    assert found.retrieval_at == {2: pytest.approx(2 / 3), 4: 1.0, 8: 1.0}  # 4 and 8 are all three
    metrics = found.to_metrics()
    assert metrics["collapse/retrieval_chance_at_2"] == pytest.approx(2 / 3)
    assert metrics["collapse/retrieval_chance_at_4"] == 1.0
    assert metrics["collapse/retrieval_above_chance_at_2"] == pytest.approx(0.0)


def test_the_smoothed_z_score_divides_by_a_std_that_moves_a_tenth_of_the_way() -> None:
    smoothed = SmoothedZScore()
    alike, different = estimate([[-1.0, -9.0], [-9.0, -1.0]], [1, 1], [0, 1]), EXAMPLE
    # both marginals of the first are equal: its std is 0
    assert smoothed.observe(alike)["collapse/marginal_std_ema"] == pytest.approx(0.0)
    std = 0.1 * different.marginal_std
    found = smoothed.observe(different)
    assert found["collapse/marginal_std_ema"] == pytest.approx(std)
    assert found["collapse/mi_zscore_ema"] == pytest.approx(different.mi / (std + 1e-3))
    assert found["collapse/marginal_std_ema_token_compat"] == pytest.approx(0.1 * different.marginal_std_token_compat)


def test_the_first_smoothed_z_score_is_the_plain_one() -> None:
    assert SmoothedZScore().observe(EXAMPLE)["collapse/mi_zscore_ema"] == pytest.approx(EXAMPLE.zscore)


def test_thoughts_that_only_distinguish_environments_have_no_mutual_information() -> None:
    # two environments of two prompts; a thought fits both prompts of its own alike, and none of the other
    lake, pond = [-1.0, -1.0, -40.0, -40.0], [-40.0, -40.0, -1.0, -1.0]
    scores, columns = [lake, lake, pond, pond], [0, 1, 2, 3]
    found = estimate(scores, [5] * 4, columns, environments=["lake", "lake", "pond", "pond"])
    assert found.mi == pytest.approx(0.0, abs=1e-9) and found.ceiling == pytest.approx(math.log(2))
    assert found.retrieval_accuracy == found.retrieval_chance == 0.5  # ties go to the first of its own
    together = estimate(scores, [5] * 4, columns)
    assert together.mi == pytest.approx(math.log(2))  # all of it is which environment
    assert together.to_metrics()["collapse/mi_ratio"] == pytest.approx(0.5)


def test_varied_thoughts_of_two_environments_that_ignore_the_state_stay_near_0() -> None:
    chooser = np.random.default_rng(3)
    chances = chooser.dirichlet(np.ones(40), size=2)  # of words, by environment
    owners = np.repeat([0, 1], 24)
    thoughts = np.array([chooser.choice(40, size=12, p=chances[owner]) for owner in owners])
    by_owner = np.log(chances)[:, thoughts].sum(axis=2).T  # (M, 2)
    scores = by_owner[:, [0, 0, 0, 1, 1, 1]] + chooser.normal(0, 0.05, (48, 6))
    columns = owners * 3 + chooser.integers(0, 3, 48)
    found = estimate(scores, [12] * 48, columns, environments=["a"] * 3 + ["b"] * 3)
    assert abs(found.to_metrics()["collapse/mi_ratio"]) < 0.02
    assert estimate(scores, [12] * 48, columns).mi > 0.6


def test_a_thought_is_contrasted_with_the_prompts_of_its_own_environment() -> None:
    # a has three prompts and two thoughts, b one of each. The first is certain of its own of three: ln 3; the second
    # fits two of three alike: ln 3 - ln 2; the third has nothing to be compared with: 0
    scores = [[0.0, -90.0, -90.0, 0.0], [-90.0, -5.0, -5.0, 0.0], [0.0, 0.0, 0.0, -7.0]]
    found = estimate(scores, [1, 1, 1], [0, 2, 3], environments=["a", "a", "a", "b"])
    assert found.mi == pytest.approx((2 * math.log(3) - math.log(2)) / 3)
    assert found.ceiling == pytest.approx(2 * math.log(3) / 3)
    assert found.reasoning_entropy == pytest.approx(found.conditional_entropy + found.mi)
    # the tie of the second goes to column 1; the third finds its own among one
    assert found.retrieval_accuracy == pytest.approx(2 / 3)
    assert found.retrieval_chance == pytest.approx((1 / 3 + 1 / 3 + 1) / 3)
    assert found.retrieval_at == {2: 1.0, 4: 1.0, 8: 1.0}
    metrics = found.to_metrics()
    assert metrics["collapse/retrieval_chance_at_2"] == pytest.approx((2 / 3 + 2 / 3 + 1) / 3)
    assert metrics["collapse/retrieval_chance_at_4"] == 1.0
    assert all(math.isfinite(value) for value in metrics.values())


def test_one_environment_for_all_is_as_none_to_the_bit() -> None:
    scores = np.random.default_rng(5).normal(-30, 20, (13, 7))
    columns = list(range(7)) + list(range(6))
    assert estimate(scores, [3] * 13, columns, environments=["a"] * 7) == estimate(scores, [3] * 13, columns)
    with pytest.raises(ValueError, match="environments has 2 entries for 7 prompts"):
        estimate(scores, [3] * 13, columns, environments=["a", "b"])
