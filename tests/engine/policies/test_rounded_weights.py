"""Matrices that are rounded once for a rollout: the same samples to the bit, and the float32 weights afterwards."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn

from engine.cluster.sampler_memory import torch_memory
from engine.config import LoraSection
from engine.policies.adapter import add_adapter
from engine.policies.batched_sampler import BatchedSampler
from engine.policies.frozen_weights import halve_frozen
from engine.policies.loading import check_architecture, compute_in
from engine.policies.ragged_cache import RaggedCache
from engine.policies.rounded_weights import rounded_once
from engine.rollout.types import Response
from tests.engine.cluster.memory_shapes import shape_of
from tests.engine.models import small_model
from tests.engine.zoo import ZOO, zoo_model

PROMPTS = [[7, 8, 9], [11, 12, 13, 14, 15], [21]]


def sampled(model: Any, *, cache: torch.dtype | None = None) -> list[Response]:
    sampler = BatchedSampler(model, rows=len(PROMPTS), stop_ids=set(), temperature=1.0, seeds=[1])
    if cache is not None:
        sampler.cache = RaggedCache(len(PROMPTS), dtype=cache)
    for row, ids in enumerate(PROMPTS):
        sampler.submit(row, ids, max_tokens=12)
    found: list[Response] = []
    while responses := sampler.advance():
        found += responses
    return found


def policy(name: str) -> Any:
    """Of another architecture, or the small one as it is, or with an adapter that was trained."""
    model = small_model(3) if name in ("small", "adapter") else zoo_model(name)
    check_architecture(model)
    compute_in(model, "bfloat16")
    if name == "adapter":
        add_adapter(model, LoraSection(rank=4, alpha=8))
        for weight in model.parameters():
            if weight.requires_grad:
                nn.init.normal_(weight, std=0.3)
        halve_frozen(model)
    return model


@pytest.mark.parametrize("name", ["small", "adapter", *ZOO])
def test_samples_are_equal_to_the_bit_to_those_of_weights_and_keys_that_are_rounded_at_each_use(name: str) -> None:
    model = policy(name)
    each_time = sampled(model, cache=torch.float32)
    with rounded_once(model):
        once = sampled(model)
    assert once == each_time  # tokens, log-probabilities and entropies


@pytest.mark.parametrize("name", ["small", "GPT-2"])
def test_frozen_matrices_kept_in_bfloat16_give_the_same_samples_as_those_rounded_at_each_use(name: str) -> None:
    model = policy(name)
    model.requires_grad_(False)
    before = sampled(model)
    halve_frozen(model)
    halved = [weight for weight in model.parameters() if weight.dtype == torch.bfloat16]
    assert len(halved) == {"small": 14, "GPT-2": 8}[name]  # 7 and 4 in each of two layers
    assert sampled(model) == before


def test_bfloat16_changes_the_samples_so_that_the_comparison_means_something() -> None:
    half = sampled(policy("small"))
    whole = small_model(3)
    compute_in(whole, "float32")
    assert sampled(whole) != half


@pytest.mark.parametrize("fails", [False, True])
def test_the_same_float32_weights_are_back_afterwards_also_after_an_error(fails: bool) -> None:
    model = policy("small")
    before = {name: (weight, weight.clone()) for name, weight in model.named_parameters()}
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    try:
        with rounded_once(model):
            linear = [part for part in model.base_model.modules() if isinstance(part, nn.Linear)]
            assert {part.weight.dtype for part in linear} == {torch.bfloat16}
            assert model.get_output_embeddings().weight.dtype == torch.float32
            if fails:
                raise KeyboardInterrupt
    except KeyboardInterrupt:
        pass
    after = dict(model.named_parameters())
    assert after.keys() == before.keys()
    for name, (weight, values) in before.items():
        assert after[name] is weight and weight.requires_grad and torch.equal(weight, values)
    assert {id(one) for one in optimizer.param_groups[0]["params"]} == {id(one) for one in after.values()}


def test_nothing_is_copied_where_the_body_computes_in_float32_or_is_rounded_already() -> None:
    model = small_model()
    compute_in(model, "float32")
    before = [id(weight) for weight in model.parameters()]
    with rounded_once(model):
        assert [id(weight) for weight in model.parameters()] == before
    frozen = policy("adapter")
    with rounded_once(frozen):
        base = [part for name, part in frozen.named_modules() if name.endswith("q_proj.base_layer")]
        assert base and all(not part.weight.requires_grad for part in base)


def test_the_copies_and_the_cache_are_as_large_as_the_plan_says() -> None:
    model = policy("small")
    plan = torch_memory(shape_of(model), context=144, rows=3, half=True)
    with rounded_once(model):
        copied = [weight for weight in model.parameters() if weight.dtype == torch.bfloat16 and weight.ndim == 2]
        assert sum(weight.nbytes for weight in copied) == plan.rounded
        sampler = BatchedSampler(model, rows=3, stop_ids=set(), temperature=1.0, seeds=[1])
        for row in range(3):
            sampler.submit(row, [5] * 140, max_tokens=4)
        while sampler.advance():
            pass
    assert sum(store.nbytes for store in (*sampler.cache.keys, *sampler.cache.values)) == plan.cache
