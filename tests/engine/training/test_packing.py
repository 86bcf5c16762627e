"""Packs: what padded rows give, from real tokens alone."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from engine.policies.batched_sampler import BatchedSampler
from engine.policies.packing import allow_packing, layout
from engine.rollout.batching import Batch, micro_batches, packs
from engine.training.token_values import Critic, logprobs_and_entropies
from tests.engine.models import small_model
from tests.engine.training.builders import assert_same, gradients, made_up_batch, updated

LENGTHS = (7, 300, 12, 40, 3, 41, 120)
every_number_of_contexts = pytest.mark.parametrize("contexts", [1, 3])


def packing_model() -> Any:
    model = small_model()
    allow_packing(model)
    return model


def values_and_gradients(model: Any, batch: Batch) -> tuple[list[torch.Tensor], list[torch.Tensor]]:
    critic = Critic(model.base_model, 32)
    torch.nn.init.constant_(critic.head.weight, 0.1)
    logprobs, entropies = logprobs_and_entropies(model, batch.ids, batch.mask, batch.contexts, temperature=0.7)
    values = critic(batch.ids, batch.mask, batch.contexts)
    (logprobs * batch.scores[:, None] + entropies + values).sum().backward()
    found = [logprobs.detach(), entropies.detach(), values.detach()]
    return found, [weight.grad for weight in model.parameters() if weight.grad is not None]


@every_number_of_contexts
def test_packs_give_what_padded_rows_give(contexts: int) -> None:
    batch = made_up_batch(LENGTHS, contexts=contexts)
    padded, padded_gradients = values_and_gradients(small_model(), batch)
    packed, packed_gradients = values_and_gradients(packing_model(), batch)
    assert float(padded[0].abs().max()) > 1
    for one, other in zip(padded, packed, strict=True):
        torch.testing.assert_close(one, other, atol=2e-5, rtol=0)
    assert_same(padded_gradients, packed_gradients)


def test_no_padding_goes_through_the_model() -> None:
    batch, model, seen = made_up_batch(LENGTHS), packing_model(), []
    model.base_model.layers[0].mlp.register_forward_hook(lambda _, inputs, __: seen.append(inputs[0].shape[:2]))
    logprobs_and_entropies(model, batch.ids, batch.mask, batch.contexts, temperature=1.0)
    assert seen == [(1, sum(LENGTHS))]


def test_a_sequence_does_not_see_its_neighbours() -> None:
    batch, model = made_up_batch(LENGTHS), packing_model()
    with torch.no_grad():
        before, _ = logprobs_and_entropies(model, batch.ids, batch.mask, batch.contexts, temperature=1.0)
        batch.ids[1] = (batch.ids[1] + 1) * (batch.contexts[1] >= 0)
        after, _ = logprobs_and_entropies(model, batch.ids, batch.mask, batch.contexts, temperature=1.0)
    others = [row for row in range(len(LENGTHS)) if row != 1]
    assert torch.equal(before[others], after[others])
    assert not torch.equal(before[1], after[1])


@pytest.mark.parametrize("recompute", [False, True])
@pytest.mark.parametrize("algorithm", ["grpo", "ppo"])
def test_an_update_on_packs_has_the_gradients_of_one_on_padded_rows(algorithm: str, recompute: bool) -> None:
    batch = made_up_batch(LENGTHS, contexts=2)
    same: dict[str, Any] = {"algorithm": {"type": algorithm}, "loss": {"kl_coefficient": 0.1}}
    padded = updated(batch, **same)
    packing = {"packing": True, "micro_batch_tokens": 200, "gradient_checkpointing": recompute}
    packed = updated(batch, **same, optimizer=packing)
    assert_same(gradients(padded.optimizer), gradients(packed.optimizer))
    if padded.critic_optimizer is not None and packed.critic_optimizer is not None:
        assert_same(gradients(padded.critic_optimizer), gradients(packed.critic_optimizer))


def test_the_sampler_samples_the_same_from_a_model_that_may_pack() -> None:
    responses = []
    for model in (small_model(), packing_model()):
        sampler = BatchedSampler(model, rows=2, stop_ids=set(), temperature=1.0, seeds=[3])
        sampler.submit(0, [20, 21, 22], max_tokens=5)
        sampler.submit(1, list(range(30, 60)), max_tokens=5)
        found = {response.row: response for _ in range(2) for response in sampler.advance()}
        responses.append([(found[row].ids, found[row].logprobs) for row in sorted(found)])
    assert responses[0] == responses[1]


def test_groups_hold_sequences_of_similar_length_and_point_at_their_tokens() -> None:
    pack = layout(torch.tensor([2, 5, 4]), torch.tensor([0, 1, 0, 1, 2, 3, 4, 0, 1, 2, 3]))
    # 5 is at most 1.25 times 4, and more than 1.25 times 2
    assert [group.tolist() for group in pack.groups] == [[[2, 3, 4, 5, 6], [7, 8, 9, 10, -1]], [[0, 1]]]


def test_micro_batches_of_packs_are_filled_by_real_tokens() -> None:
    lengths = torch.tensor([2, 10, 3, 4])
    assert [rows.tolist() for rows in micro_batches(lengths, max_tokens=14)] == [[1], [3, 2, 0]]
    assert [rows.tolist() for rows in packs(lengths, max_tokens=14)] == [[1, 3], [2, 0]]


def test_bfloat16_is_near_float32_and_leaves_weights_and_moments_in_float32() -> None:
    batch = made_up_batch()
    exact = updated(batch, optimizer={"precision": "auto"})
    rough = updated(batch, optimizer={"precision": "bfloat16"})
    assert {weight.dtype for weight in rough.model.parameters()} == {torch.float32}
    pairs = list(zip(gradients(exact.optimizer), gradients(rough.optimizer), strict=True))
    assert {other.dtype for _, other in pairs} == {torch.float32}
    one, other = (torch.cat([pair[side].flatten() for pair in pairs]) for side in (0, 1))
    # 8 bits of mantissa: another number, by a few percent at most
    assert 1e-5 < float((one - other).norm() / one.norm()) < 0.05
