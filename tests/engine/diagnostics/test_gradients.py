"""The gradient decomposition: buckets by hand, norms against a plain backward pass, and that nothing is left behind."""

from __future__ import annotations

import math
from copy import deepcopy
from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from engine.config import RunConfig, build_config
from engine.diagnostics.gradients import bucket_metrics, buckets_by_reward_std, gradient_norms
from engine.rollout.batching import Batch, last_token_rewards
from engine.training.gradient_probe import gradient_metrics
from engine.training.learner import Learner
from engine.training.token_values import logprobs_and_entropies
from tests.engine.models import small_model, words

STDS = [0.3, 0.0, 0.1, 0.5, 0.0]


def test_quantile_buckets_hold_equally_many_groups_lowest_std_first() -> None:
    found = buckets_by_reward_std(STDS, count=2, borders="quantile")
    assert found == {"bucket_1": [1, 2, 4], "bucket_2": [0, 3]}


def test_there_are_no_more_quantile_buckets_than_groups() -> None:
    assert buckets_by_reward_std([0.2, 0.1], count=6, borders="quantile") == {"bucket_1": [1], "bucket_2": [0]}


def test_fixed_buckets_begin_at_multiples_of_the_width_and_the_last_is_open() -> None:
    # [0, 0.2), [0.2, 0.4), [0.4, ...)
    found = buckets_by_reward_std([*STDS, 7.0, 0.2], count=3, borders="fixed", width=0.2)
    assert found == {"bucket_1": [1, 2, 4], "bucket_2": [0, 6], "bucket_3": [3, 5]}


def test_empty_fixed_buckets_are_left_out() -> None:
    assert list(buckets_by_reward_std([0.0, 0.9], count=4, borders="fixed", width=0.2)) == ["bucket_1", "bucket_4"]


def test_norms_are_of_the_sum_over_parts_and_a_missing_component_is_0() -> None:
    weight = nn.Parameter(torch.tensor([1.0, 2.0]))
    frozen = nn.Parameter(torch.ones(3), requires_grad=False)
    # task: gradients (3, 0) and (0, 4), whose sum has norm 5; entropy: (1, 1)
    parts = [
        {"task": 3 * weight[0], "entropy": weight.sum()},
        {"task": 4 * weight[1] + (frozen * 2).sum()},
    ]
    found = gradient_norms(parts, [weight, frozen])  # type: ignore[arg-type]
    assert found == {"task": pytest.approx(5.0), "entropy": pytest.approx(2**0.5), "kl": 0.0}
    assert weight.grad is None


def test_a_bucket_shows_means_over_its_groups() -> None:
    norms: Any = [{"task": 3.0, "entropy": 0.5, "kl": 0.5}, {"task": 1.0, "entropy": 0.5, "kl": 0.5}]
    metrics = bucket_metrics(norms, [0.4, 0.0], {"bucket_1": [1], "bucket_2": [0]})
    assert (metrics["gradient/all/task"], metrics["gradient/bucket_1/task"]) == (2.0, 1.0)
    assert metrics["gradient/bucket_1/regularizer_share"] == 0.5
    assert metrics["gradient/all/regularizer_share"] == pytest.approx(1 / 3)
    assert (metrics["gradient/all/groups"], metrics["gradient/bucket_2/reward_std"]) == (2.0, 0.4)


def config_of(**changes: Any) -> RunConfig:
    base = {
        "loss": {"entropy_coefficient": 0.01, "kl_coefficient": 0.1},
        "diagnostics": {"gradient_buckets": 2},
        "optimizer": {"micro_batch_tokens": 128},
    }
    return build_config({**base, **changes})


def learner_of(config: RunConfig) -> Learner:
    """A learner some way from where it began, so that the pull has a gradient."""
    return Learner(small_model(3), config, reference=small_model(4))


def batch_of(returns: list[list[float]], *, seed: int = 0) -> Batch:
    """Groups of random trajectories with these returns, as a model might have sampled them."""
    chance = torch.Generator().manual_seed(seed)
    rows, length = sum(map(len, returns)), 12
    flat = torch.tensor([value for group in returns for value in group])
    mask = torch.zeros(rows, length)
    mask[:, 5:] = 1.0
    return Batch(
        ids=torch.randint(0, len(words()), (rows, length), generator=chance),
        mask=mask,
        sampled=mask,
        logprobs=torch.full((rows, length), -6.0) * mask,
        sampler_logprobs=torch.full((rows, length), -6.0) * mask,
        contexts=torch.zeros(rows, length, dtype=torch.long),
        lengths=torch.full((rows,), length),
        scores=flat,
        returns=flat,
        rewards=last_token_rewards(flat, mask),
        entropies=torch.zeros(rows),
        baselines=torch.zeros(rows),
        tags=torch.zeros(rows, dtype=torch.long),
        groups=torch.tensor([index for index, group in enumerate(returns) for _ in group]),
    )


RETURNS = [[0.0, 1.0, 0.0], [1.0, 1.0, 1.0], [0.0, 0.0, 1.0], [0.0, 0.0, 0.0]]


def test_norms_of_entropy_and_kl_equal_those_of_a_plain_backward_pass() -> None:
    config = config_of()
    learner, batch = learner_of(config), batch_of(RETURNS)
    expected = {"entropy": 0.0, "kl": 0.0}
    for group in range(4):
        part = batch.rows((batch.groups == group).nonzero().squeeze(-1))
        for name in expected:
            model = deepcopy(learner.model)
            _plain_loss(name, model, learner, part).backward()
            squares: list[Tensor] = [p.grad.square().sum() for p in model.parameters() if p.grad is not None]
            expected[name] += float(torch.stack(squares).sum().sqrt()) / 4
    found = gradient_metrics(learner, batch, config)
    assert found["gradient/all/entropy"] == pytest.approx(expected["entropy"], rel=1e-4)
    assert found["gradient/all/kl"] == pytest.approx(expected["kl"], rel=1e-4)


def test_norms_of_the_task_equal_those_of_a_plain_backward_pass() -> None:
    config = config_of()
    learner, batch = learner_of(config), batch_of(RETURNS)
    # of 0, 1, 0 and of 0, 0, 1 the mean is 1/3 and the std 1/sqrt(3): a success has 2/sqrt(3), a failure -1/sqrt(3)
    success, failure = 2 / 3**0.5, -1 / 3**0.5
    advantages = torch.tensor([failure, success, failure, 0, 0, 0, failure, failure, success, 0, 0, 0])
    norms = []
    for group in range(4):
        rows = (batch.groups == group).nonzero().squeeze(-1)
        part, model = batch.rows(rows), deepcopy(learner.model)
        logprobs, _ = logprobs_and_entropies(model, part.ids, part.mask, part.contexts, temperature=1.0)
        losses = []
        for row, column in (part.mask > 0).nonzero().tolist():
            advantage, ratio = advantages[rows[row]], (logprobs[row, column] + 6.0).exp()
            found = torch.maximum(-advantage * ratio, -advantage * ratio.clamp(0.8, 1.28))
            losses.append(torch.minimum(found, -3 * advantage) if advantage < 0 else found)
        torch.stack(losses).mean().backward()
        squares = [weight.grad.square().sum() for weight in model.parameters() if weight.grad is not None]
        norms.append(float(torch.stack(squares).sum().sqrt()))
    assert norms[0] > 0 < norms[2] and norms[1] == norms[3] == 0
    found_norms = gradient_metrics(learner, batch, config)
    assert found_norms["gradient/all/task"] == pytest.approx(sum(norms) / 4, rel=1e-4)
    assert found_norms["gradient/bucket_2/task"] == pytest.approx((norms[0] + norms[2]) / 2, rel=1e-4)


def _plain_loss(name: str, model: Any, learner: Learner, part: Batch) -> Tensor:
    logprobs, entropies = logprobs_and_entropies(model, part.ids, part.mask, part.contexts, temperature=1.0)
    if name == "entropy":
        return -0.01 * entropies.sum() / part.mask.sum()
    with torch.no_grad():
        start, _ = logprobs_and_entropies(small_model(4), part.ids, part.mask, part.contexts, temperature=1.0)
    difference = logprobs - start
    return 0.1 * (((-difference).exp() - 1 + difference) * part.mask).sum() / part.mask.sum()


def test_groups_whose_returns_are_equal_have_no_task_gradient_but_the_regularizers_still_pull() -> None:
    config = config_of()
    found = gradient_metrics(learner_of(config), batch_of(RETURNS), config)
    assert (found["gradient/bucket_1/reward_std"], found["gradient/bucket_1/task"]) == (0.0, 0.0)
    assert found["gradient/bucket_1/regularizer_share"] == 1.0
    assert found["gradient/bucket_2/task"] > 0 < found["gradient/bucket_1/entropy"]


def test_a_component_without_a_coefficient_is_0() -> None:
    config = config_of(loss={"entropy_coefficient": 0, "kl_coefficient": 0})
    found = gradient_metrics(learner_of(config), batch_of(RETURNS), config)
    assert found["gradient/all/entropy"] == found["gradient/all/kl"] == 0.0 < found["gradient/all/task"]


def test_entropy_has_no_gradient_above_its_target() -> None:
    # the batch was sampled with an entropy of 0.5 nats a token
    batch = replace(batch_of(RETURNS), entropies=torch.full((len(batch_of(RETURNS)),), 0.5))
    for target, acts in ((0.6, True), (0.4, False)):
        config = config_of(loss={"entropy_coefficient": 0.01, "entropy_target": target})
        found = gradient_metrics(learner_of(config), batch, config)
        assert (found["gradient/all/entropy"] > 0) == acts


def test_the_task_gradient_is_scaled_as_the_filter_scales_the_loss_and_the_regularizers_are_not() -> None:
    config = config_of()
    learner, batch = learner_of(config), batch_of(RETURNS)
    whole, quarter = (gradient_metrics(learner, batch, config, scale=scale) for scale in (1.0, 0.25))
    assert quarter["gradient/all/task"] == pytest.approx(whole["gradient/all/task"] / 4, rel=1e-4)
    assert quarter["gradient/all/entropy"] == pytest.approx(whole["gradient/all/entropy"], rel=1e-4)


def test_tokens_of_another_sampler_weigh_in_the_probe_as_in_the_update() -> None:
    config = config_of(cluster={"importance_cap": 2.0})
    learner, batch = learner_of(config), batch_of(RETURNS)
    twice = replace(batch, sampler_logprobs=batch.logprobs - math.log(2) * batch.mask)
    found, doubled = (gradient_metrics(learner, one, config) for one in (batch, twice))
    # the learner finds each token twice as likely as its sampler did: its advantages count twice
    assert doubled["gradient/all/task"] == pytest.approx(2 * found["gradient/all/task"], rel=1e-4)


def test_a_bucket_of_the_same_groups_twice_has_the_same_norms() -> None:
    config = config_of(diagnostics={"gradient_buckets": 1})
    learner, once = learner_of(config), batch_of(RETURNS)
    twice = batch_of(RETURNS * 2)
    twice.ids[:12] = twice.ids[12:] = once.ids
    single, double = (gradient_metrics(learner, batch, config) for batch in (once, twice))
    for name in ("task", "entropy", "kl"):
        assert double[f"gradient/all/{name}"] == pytest.approx(single[f"gradient/all/{name}"], rel=1e-4)


def test_the_size_of_micro_batches_does_not_matter() -> None:
    small, large = (
        gradient_metrics(learner_of(config), batch_of(RETURNS), config)
        for config in (config_of(), config_of(optimizer={"micro_batch_tokens": 8192}))
    )
    assert small == pytest.approx(large, rel=1e-4)


@pytest.mark.parametrize("algorithm", ["grpo", "ppo"])
def test_nothing_is_stepped_drawn_or_left_behind(algorithm: str) -> None:
    config = config_of(algorithm={"type": algorithm})
    learner, batch = learner_of(config), batch_of(RETURNS)
    learner.update(batch, torch.randn_like(batch.mask), step=1, shuffle=torch.Generator(), **_critic(learner, batch))
    weights, state = deepcopy(learner.model.state_dict()), deepcopy(learner.state_dict())
    random = torch.get_rng_state()
    gradient_metrics(learner, batch, config)
    assert torch.equal(torch.get_rng_state(), random)
    assert all(torch.equal(value, weights[name]) for name, value in learner.model.state_dict().items())
    assert _same(learner.state_dict(), state)
    assert all(parameter.grad is None for parameter in learner.model.parameters())
    assert not learner.model.training


def _critic(learner: Learner, batch: Batch) -> dict[str, Tensor]:
    if learner.critic is None:
        return {}
    return {"values": learner.values(batch), "returns": torch.zeros_like(batch.mask)}


def _same(one: Any, other: Any) -> bool:
    if isinstance(one, Tensor):
        return torch.equal(one, other)
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(_same(one[key], other[key]) for key in one)
    if isinstance(one, list | tuple):
        return len(one) == len(other) and all(map(_same, one, other))
    return bool(one == other)
