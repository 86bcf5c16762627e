"""Policy loss, value loss, KL estimators, entropy and explained variance."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from engine.algorithms.losses import (
    AGGREGATIONS,
    PolicyLoss,
    aggregate,
    entropy,
    explained_variance,
    kl_penalty,
    loss_normalizer,
    policy_loss,
    value_clip_fraction,
    value_loss,
)
from tests.engine.algorithms.builders import normal, ragged_mask, seeded


def loss_of(logprobs: Tensor, old: Tensor, advantages: Tensor, mask: Tensor, **changes: Any) -> PolicyLoss:
    options: dict[str, Any] = {"clip_low": 0.2, "clip_high": 0.28, "dual_clip": 3.0, "aggregation": "token_mean"}
    return policy_loss(logprobs, old, advantages, mask, **(options | changes))


def gradient(loss: Tensor, of: Tensor) -> Tensor:
    return torch.autograd.grad(loss, of)[0]


def token_loss(ratio: float, advantage: float, *, low: float, high: float, dual: float) -> float:
    """The definition for one token."""
    found = max(-advantage * ratio, -advantage * min(max(ratio, 1 - low), 1 + high))
    return min(found, -advantage * dual) if dual and advantage < 0 else found


def aggregate_lists(rows: list[list[float]], how: str) -> float:
    """The definitions, over the rows that have tokens."""
    rows = [row for row in rows if row]
    tokens = [token for row in rows for token in row]
    if not rows:
        return 0.0
    return {
        "token_mean": lambda: sum(tokens) / len(tokens),
        "sequence_mean_token_sum": lambda: sum(tokens) / len(rows),
        "sequence_mean_token_sum_norm": lambda: sum(tokens) / len(rows),
        "sequence_mean_token_mean": lambda: sum(sum(row) / len(row) for row in rows) / len(rows),
    }[how]()


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 10_000), how=st.sampled_from(sorted(AGGREGATIONS)), dual=st.sampled_from([0.0, 1.5, 3.0]))
def test_the_loss_is_its_definition_on_a_ragged_batch(seed: int, how: str, dual: float) -> None:
    generator = seeded(seed)
    mask = ragged_mask(generator, rows=5, width=12)
    logprobs, old, advantages = (normal(generator, 5, 12) for _ in range(3))
    rows = [
        [
            token_loss(math.exp(new - was), advantage, low=0.2, high=0.28, dual=dual)
            for new, was, advantage, on in zip(*(x[r].tolist() for x in (logprobs, old, advantages, mask)), strict=True)
            if on
        ]
        for r in range(5)
    ]
    found = loss_of(logprobs, old, advantages, mask, dual_clip=dual, aggregation=how)
    assert float(found.loss) == pytest.approx(aggregate_lists(rows, how), rel=1e-4, abs=1e-5)


@pytest.mark.parametrize("how", sorted(AGGREGATIONS))
def test_losses_and_gradients_of_micro_batches_add_up_to_the_whole(how: Any) -> None:
    generator = seeded(11)
    mask = ragged_mask(generator, rows=6, width=12)
    logprobs, old, advantages = (normal(generator, 6, 12) for _ in range(3))

    whole = logprobs.clone().requires_grad_()
    total = loss_of(whole, old, advantages, mask, aggregation=how).loss

    parts, added, gradients = logprobs.clone().requires_grad_(), 0.0, torch.zeros(6, 12)
    normalizer = loss_normalizer(mask, how)
    for rows in ([0], [1, 2, 3], [4, 5]):
        part = loss_of(
            parts[rows], old[rows], advantages[rows], mask[rows], aggregation=how, normalizer=normalizer
        ).loss
        added += float(part.detach())
        gradients += gradient(part, parts)

    assert added == pytest.approx(float(total.detach()), rel=1e-5)
    torch.testing.assert_close(gradients, gradient(total, whole))


def test_clip_fractions_are_shares_of_sampled_tokens() -> None:
    # ratios 1.5 (A=1: clipped above), 0.9 (not), 4 (A=-1: dual clip), 0.5 (A=-1: clipped below), one not sampled
    ratio = torch.tensor([[1.5, 0.9, 4.0, 0.5, 9.0]])
    advantages, mask = torch.tensor([[1.0, 1, -1, -1, 1]]), torch.tensor([[1.0, 1, 1, 1, 0]])
    found = loss_of(ratio.log(), torch.zeros(1, 5), advantages, mask)
    assert found.clip_fraction == 0.5
    assert (found.clipped_above, found.clipped_below) == (0.25, 0.25)
    assert found.clip_fraction_low == 0.25
    assert found.ratio_max == pytest.approx(4.0)
    assert found.approx_kl == pytest.approx(-math.log(1.5 * 0.9 * 4.0 * 0.5) / 4)


def test_each_clip_has_its_own_bound() -> None:
    up = loss_of(torch.tensor([[1.4]]).log(), torch.zeros(1, 1), torch.ones(1, 1), torch.ones(1, 1), clip_high=0.5)
    down = loss_of(torch.tensor([[0.7]]).log(), torch.zeros(1, 1), -torch.ones(1, 1), torch.ones(1, 1), clip_low=0.4)
    assert float(up.loss) == pytest.approx(-1.4)  # inside 1 + 0.5
    assert float(down.loss) == pytest.approx(0.7)  # inside 1 - 0.4


def test_no_dual_clip_leaves_the_loss_unbounded() -> None:
    ten = torch.tensor([[10.0]]).log()
    found = loss_of(ten, torch.zeros(1, 1), -torch.ones(1, 1), torch.ones(1, 1), dual_clip=0.0)
    assert float(found.loss) == pytest.approx(10.0)
    assert found.clip_fraction_low == 0.0


def test_the_gradient_is_0_where_a_clip_decides_and_the_policy_gradient_at_ratio_1() -> None:
    logprobs = torch.tensor([[0.0, math.log(2.0)]], requires_grad=True)
    found = loss_of(logprobs, torch.zeros(1, 2), torch.tensor([[0.7, 0.7]]), torch.ones(1, 2))
    torch.testing.assert_close(gradient(found.loss, logprobs), torch.tensor([[-0.35, 0.0]]))


@pytest.mark.parametrize("how", sorted(AGGREGATIONS))
def test_a_batch_without_sampled_tokens_has_loss_0_and_no_gradient(how: Any) -> None:
    logprobs = torch.zeros(2, 3, requires_grad=True)
    found = loss_of(logprobs, torch.zeros(2, 3), torch.ones(2, 3), torch.zeros(2, 3), aggregation=how)
    assert found.loss.item() == 0.0
    assert not gradient(found.loss, logprobs).any()


def test_a_huge_log_ratio_stays_finite() -> None:
    found = loss_of(torch.tensor([[500.0]]), torch.zeros(1, 1), -torch.ones(1, 1), torch.ones(1, 1), dual_clip=0.0)
    assert float(found.loss) == pytest.approx(math.exp(20), rel=1e-5)


def test_the_value_loss_takes_the_worse_of_the_value_and_its_clipped_self() -> None:
    # V = 1, old 0, clip 0.5, R = 1: plain error 0, clipped 0.25. V = 1, R = -1: plain 4, clipped 2.25.
    values, returns = torch.tensor([[1.0, 1.0, 8.0]]), torch.tensor([[1.0, -1.0, 0.0]])
    mask = torch.tensor([[1.0, 1, 0]])
    found = value_loss(values, torch.zeros(1, 3), returns, mask, clip=0.5)
    assert float(found) == pytest.approx(0.5 * (0.25 + 4.0) / 2)
    assert value_clip_fraction(values, torch.zeros(1, 3), returns, mask, clip=0.5) == 0.5
    # within the clip both errors are the same, so it decides nothing
    assert value_clip_fraction(values, values, returns, mask, clip=0.5) == 0


def test_the_value_loss_of_parts_adds_up_with_a_normalizer() -> None:
    generator = seeded(12)
    mask = ragged_mask(generator, rows=4, width=8)
    values, old, returns = (normal(generator, 4, 8) for _ in range(3))
    whole = value_loss(values, old, returns, mask, clip=0.5)
    parts = [
        value_loss(values[r], old[r], returns[r], mask[r], clip=0.5, normalizer=mask.sum()) for r in ([0, 1], [2, 3])
    ]
    torch.testing.assert_close(sum(parts), whole)


def test_an_unbounded_value_clip_is_half_the_mean_squared_error() -> None:
    found = value_loss(torch.tensor([[3.0]]), torch.zeros(1, 1), torch.ones(1, 1), torch.ones(1, 1), clip=math.inf)
    assert float(found) == 2.0


@pytest.mark.parametrize(
    ("kind", "expected"),
    # d = ln 2: k1 = d; k2 = d^2 / 2; k3 = 1/2 - 1 + d. d = -ln 2: k3 = 2 - 1 - ln 2.
    [
        ("k1", [math.log(2), -math.log(2)]),
        ("k2", [math.log(2) ** 2 / 2, math.log(2) ** 2 / 2]),
        ("k3", [math.log(2) - 0.5, 1 - math.log(2)]),
    ],
)
def test_kl_estimators_of_one_token(kind: Any, expected: list[float]) -> None:
    found = kl_penalty(torch.tensor([math.log(2), -math.log(2)]), torch.zeros(2), kind)
    torch.testing.assert_close(found, torch.tensor(expected))


@pytest.mark.parametrize("kind", ["k1", "k3"])
def test_unbiased_kl_estimators_average_to_the_kl(kind: Any) -> None:
    policy, reference = torch.tensor([0.5, 0.3, 0.2]), torch.tensor([0.2, 0.5, 0.3])
    exact = (policy * (policy / reference).log()).sum()
    torch.testing.assert_close((policy * kl_penalty(policy.log(), reference.log(), kind)).sum(), exact)


def test_k3_is_never_negative_and_bounded() -> None:
    far = torch.tensor([-500.0, -3.0, 0.0, 3.0, 500.0])
    found = kl_penalty(far, torch.zeros(5), "k3")
    assert (found >= 0).all()
    assert found[2] == 0
    assert found[0] == found[4] == 10.0


def test_entropy_runs_from_0_for_certain_to_ln_v_for_even() -> None:
    logits = torch.tensor([[0.0, 0.0, 0.0, 0.0], [200.0, 0.0, 0.0, 0.0]])
    torch.testing.assert_close(entropy(logits), torch.tensor([math.log(4), 0.0]))


def test_tokens_ruled_out_add_no_entropy_and_no_gradient() -> None:
    logits = torch.tensor([0.0, 1.0, -math.inf], requires_grad=True)
    value = entropy(logits)
    torch.testing.assert_close(value, entropy(torch.tensor([0.0, 1.0])))
    slope = gradient(value, logits)
    assert torch.isfinite(slope).all()
    assert slope[2] == 0


def test_explained_variance_is_1_for_a_perfect_critic_and_0_for_a_constant() -> None:
    returns, mask = torch.tensor([[1.0, 2.0, 3.0, 99.0]]), torch.tensor([[1.0, 1, 1, 0]])
    assert explained_variance(returns.clone(), returns, mask) == pytest.approx(1.0)
    assert explained_variance(torch.full((1, 4), 5.0), returns, mask) == pytest.approx(0.0)
    assert explained_variance(-returns, returns, mask) == pytest.approx(-3.0)  # errors 2R: variance 4 times


def test_explained_variance_is_0_where_nothing_varies() -> None:
    assert explained_variance(torch.rand(1, 3), torch.ones(1, 3), torch.ones(1, 3)) == 0.0
    assert explained_variance(torch.rand(1, 3), torch.rand(1, 3), torch.zeros(1, 3)) == 0.0


def test_a_constant_length_takes_the_place_of_the_trajectories_own() -> None:
    # sums 2 + 2 = 4 and 6 over two trajectories: 10 / 2 = 5, over 50 tokens each 0.1
    losses, mask = torch.tensor([[2.0, 2.0], [6.0, 0.0]]), torch.tensor([[1.0, 1.0], [1.0, 0.0]])
    normalizer = loss_normalizer(mask, "sequence_mean_token_sum_norm", length=50)
    assert float(aggregate(losses, mask, "sequence_mean_token_sum_norm", normalizer=normalizer)) == pytest.approx(0.1)


def test_aggregation_ignores_rows_without_tokens() -> None:
    losses, mask = torch.tensor([[1.0, 3.0], [9.0, 9.0]]), torch.tensor([[1.0, 1.0], [0.0, 0.0]])
    assert [float(aggregate(losses, mask, how)) for how in ("token_mean", "sequence_mean_token_sum")] == [2.0, 4.0]
    assert float(aggregate(losses, mask, "sequence_mean_token_mean")) == 2.0


@pytest.mark.parametrize("how", sorted(AGGREGATIONS))
def test_a_mask_of_booleans_is_a_mask_of_ones_and_zeros(how: Any) -> None:
    generator = seeded(13)
    mask = ragged_mask(generator, rows=5, width=8)
    logprobs, old, advantages = (normal(generator, 5, 8) for _ in range(3))
    plain = loss_of(logprobs, old, advantages, mask, aggregation=how)
    found = loss_of(logprobs, old, advantages, mask.bool(), aggregation=how)
    torch.testing.assert_close(found.loss, plain.loss)
    assert found.clip_fraction == plain.clip_fraction
    assert float(loss_normalizer(mask.bool(), how)) == float(loss_normalizer(mask, how))


@pytest.mark.parametrize("kind", ["k1", "k3"])
def test_straight_through_kl_has_its_own_value_and_the_gradient_of_k2(kind: Any) -> None:
    logprobs = torch.tensor([[-1.0, -2.5, -0.3]], requires_grad=True)
    start = torch.tensor([[-1.2, -2.0, -0.3]])
    through = kl_penalty(logprobs, start, "k1+" if kind == "k1" else "k3+")
    torch.testing.assert_close(through, kl_penalty(logprobs, start, kind))
    # the gradient of d^2 / 2 is d
    torch.testing.assert_close(gradient(through.sum(), logprobs), (logprobs - start).detach())
