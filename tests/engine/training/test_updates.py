"""One update: gradients add up over its parts, activations may be computed twice, broken gradients change nothing."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor
from transformers import GPT2Config, GPT2LMHeadModel

from engine.algorithms import losses
from engine.policies.loading import without_dropout
from engine.rollout.batching import Batch, micro_batches
from engine.training.learner import Learner
from engine.training.meter import Meter
from engine.training.token_values import logprobs_and_entropies
from tests.engine.models import small_model
from tests.engine.training.builders import (
    advantages_of,
    assert_same,
    gradients,
    learner_config,
    made_up_batch,
    update,
    updated,
)

AGGREGATIONS = ("token_mean", "sequence_mean_token_sum", "sequence_mean_token_mean")


@pytest.mark.parametrize("aggregation", AGGREGATIONS)
def test_parts_of_a_batch_add_up_to_the_gradient_of_the_whole(aggregation: Any) -> None:
    batch = made_up_batch((6, 150, 11, 3, 100, 90))
    assert len(micro_batches(batch.lengths, max_tokens=128)) == 4
    loss = {"aggregation": {"type": aggregation}, "entropy_coefficient": 0.1, "kl_coefficient": 0.1}
    parts = updated(batch, loss=loss, optimizer={"micro_batch_tokens": 128})

    model = small_model()
    logprobs, entropies = logprobs_and_entropies(model, batch.ids, batch.mask, batch.contexts, temperature=1.0)
    task = losses.policy_loss(
        logprobs, batch.logprobs, advantages_of(batch), batch.mask,
        clip_low=0.2, clip_high=0.28, dual_clip=3.0, aggregation=aggregation,
    ).loss  # fmt: skip
    # the start model is the model itself, where KL (k3) and its gradient are 0
    (task - 0.1 * losses.aggregate(entropies, batch.mask, aggregation)).backward()
    assert_same([weight.grad for weight in model.parameters()], gradients(parts.optimizer))


def test_parts_of_a_batch_add_up_to_the_critics_gradient_of_the_whole() -> None:
    batch = made_up_batch((6, 150, 11, 3, 100, 90))
    gae = {"type": "ppo"}
    whole = updated(batch, algorithm=gae)
    parts = updated(batch, algorithm=gae, optimizer={"micro_batch_tokens": 128})
    assert whole.critic_optimizer is not None and parts.critic_optimizer is not None
    assert_same(gradients(whole.critic_optimizer), gradients(parts.critic_optimizer))


@pytest.mark.parametrize("algorithm", ["grpo", "ppo"])
def test_computing_activations_twice_gives_the_same_weights(algorithm: str) -> None:
    batch, found = made_up_batch(), {}
    for twice in (False, True):
        optimizer = {"gradient_checkpointing": twice}
        learner = Learner(small_model(), learner_config(algorithm={"type": algorithm}, optimizer=optimizer))
        bodies = [learner.model.base_model] + ([learner.critic.body] if learner.critic is not None else [])
        computed: list[Any] = []
        for body in bodies:
            body.layers[0].register_forward_pre_hook(lambda *_, computed=computed: computed.append(1))
        values = torch.zeros_like(batch.mask) if learner.critic is not None else None
        learner.update(batch, advantages_of(batch), step=1, shuffle=torch.Generator(), values=values, returns=values)
        assert len(computed) == len(bodies) * (2 if twice else 1)
        found[twice] = gradients(learner.optimizer)
    assert_same(found[False], found[True])


def test_a_model_that_drops_at_random_when_it_learns_drops_nothing_here() -> None:
    sizes = {"vocab_size": 300, "n_positions": 64, "n_embd": 16, "n_layer": 1, "n_head": 2}
    model = GPT2LMHeadModel(GPT2Config(**sizes, resid_pdrop=0.5, embd_pdrop=0.5, attn_pdrop=0.5)).eval()
    learner, batch = Learner(model, learner_config()), made_up_batch()
    found, _ = learner.score(batch)
    same = replace(batch, logprobs=found, sampler_logprobs=found)
    metrics = update(learner, same)
    assert metrics["policy/ratio_max"] == pytest.approx(1.0, abs=1e-5)  # the first update is of the policy that played


@pytest.mark.parametrize("kind", ["attention_dropout", "hidden_dropout"])
def test_dropout_that_is_a_number_of_a_module_is_switched_off_as_well(kind: str) -> None:
    module = torch.nn.Module()
    module.inner = torch.nn.Dropout(0.1)
    setattr(module, kind, 0.1)
    without_dropout(module)
    assert (getattr(module, kind), module.inner.p) == (0.0, 0.0)


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
@pytest.mark.parametrize("algorithm", ["grpo", "ppo"])
def test_a_gradient_that_is_not_finite_changes_neither_weights_nor_optimizer(algorithm: str, bad: float) -> None:
    batch = made_up_batch()
    learner = Learner(small_model(), learner_config(algorithm={"type": algorithm}))
    update(learner, batch)  # so that the optimizers have state
    before = deepcopy((learner.model.state_dict(), learner.state_dict()))
    victims = [learner.model] + ([learner.critic] if learner.critic is not None else [])
    hooks = [next(iter(victim.parameters())).register_hook(lambda grad: grad * bad) for victim in victims]
    metrics = update(learner, batch)
    assert metrics["optim/skipped_updates"] == len(victims)
    assert "optim/grad_norm" not in metrics
    torch.testing.assert_close((learner.model.state_dict(), learner.state_dict()), before, atol=0, rtol=0)
    for hook in hooks:
        hook.remove()
    assert update(learner, batch)["optim/skipped_updates"] == 0
    changed = zip(learner.model.state_dict().values(), before[0].values(), strict=True)
    assert any(not torch.equal(now, then) for now, then in changed)


class Watched(Learner):
    """Remembers which rows its updates were of."""

    seen: list[list[int]]

    def _update_policy(self, batch: Batch, rows: Tensor, advantages: Tensor, meter: Meter, **options: Any) -> None:
        self.seen.append(rows.tolist())
        super()._update_policy(batch, rows, advantages, meter, **options)


@pytest.mark.parametrize(("epochs", "updates"), [(1, 1), (3, 2), (2, 4)])
def test_each_epoch_is_a_pass_over_every_row_once(epochs: int, updates: int) -> None:
    batch = made_up_batch()
    learner = Watched(small_model(), learner_config(optimizer={"epochs": epochs, "updates_per_step": updates}))
    learner.seen = []
    update(learner, batch)
    assert len(learner.seen) == epochs * updates
    for epoch in range(epochs):
        rows = [row for part in learner.seen[epoch * updates : (epoch + 1) * updates] for row in part]
        assert sorted(rows) == list(range(len(batch)))
    steps = {float(state["step"]) for state in learner.optimizer.state.values()}
    assert steps == {float(epochs * updates)}
