"""The memory that a sampler is said to need: by hand, and against what real samplers hold."""

from __future__ import annotations

from pathlib import Path

import pytest
from transformers import (
    AutoConfig,
    DeepseekV3Config,
    DeepseekV3ForCausalLM,
    Qwen2Config,
    Qwen2ForCausalLM,
    Qwen3MoeConfig,
    Qwen3MoeForCausalLM,
)

from engine.cluster.memory import estimate
from engine.cluster.sampler_memory import attention_work, feed_forward_work, torch_memory, vllm_memory
from engine.config import build_config
from engine.policies.batched_sampler import BatchedSampler
from engine.policies.model_paths import BUNDLED
from engine.policies.model_shape import model_shape
from engine.policies.vllm_start import cpu_arguments
from tests.engine.cluster.memory_shapes import decoder, shape_of
from tests.engine.models import small_model
from tests.engine.peak_bytes import PeakBytes


def test_no_more_rows_have_a_cache_than_are_decoded_at_once() -> None:
    """16 x 8 trajectories a step and 256 in the last evaluation, of 5 turns that share a context of 1,024 tokens."""
    shape = model_shape("tiny")
    whole, capped = (
        estimate(build_config({"cluster": {"sampler": "torch"}, "rollout": {"rows_at_once": most}}), shape, gpu=False)
        for most in (0, 32)
    )
    assert (whole.rows, capped.rows) == (256, 32)
    assert whole.sampler.cache == 8 * capped.sampler.cache


def test_a_sampler_of_vllm_on_two_gpus() -> None:
    found = vllm_memory(decoder(), context=40, rows=3, half=True, tensor_parallel=2, gpu=True)
    assert found.weights == 118 * 2
    # a token's keys and values, of the one head that no GPU can have less than: 2 x 2 x 2 bytes; two blocks a row
    assert (found.sequence, found.cache) == (40 * 8, 7 * 32 * 8)
    assert found.work == 2048 * (6 * 4 + 4 * 4) * 2 + 3 * 3 * 10 * 4


def test_the_cache_on_a_cpu_is_the_one_that_vllm_allocates() -> None:
    config = AutoConfig.from_pretrained(BUNDLED["tiny"])
    arguments = cpu_arguments(config, rows=7, context_tokens=100, precision="float32", share=0.5)
    found = vllm_memory(model_shape("tiny"), context=100, rows=7, half=False)
    assert found.cache == arguments["kv_cache_memory_bytes"]


def test_our_own_sampler_repeats_keys_and_values_for_the_heads_that_share_them() -> None:
    """Prompts of 60 tokens after 163; real samplers hold what is estimated beside their weights and their cache."""
    sizes = {"hidden_size": 448, "intermediate_size": 448, "num_hidden_layers": 2, "num_key_value_heads": 2}
    config = Qwen2Config(vocab_size=50, num_attention_heads=14, max_position_embeddings=512, **sizes)
    model, rows = Qwen2ForCausalLM(config).eval(), 32
    sampler = BatchedSampler(model, rows=rows, stop_ids=set(), temperature=1.0, seeds=[1])
    for length in (160, 60):
        for row in range(rows):
            sampler.submit(row, [5 + row] * length, max_tokens=3)
        held = [*model.parameters(), *model.buffers(), *sampler.cache.keys, *sampler.cache.values]
        with PeakBytes(held) as prefill:
            sampler.advance(block=False)
        while sampler.advance():
            pass
    found = attention_work(shape_of(model), context=223, rows=rows, turn=60)
    assert found / prefill.bytes == pytest.approx(1, abs=0.1)
    # 32 rows of 223 columns, of keys and values each 14 + 2 heads of 32 float32; 1,920 new tokens with 223 x 5 bytes
    # and 6 x 448 float32
    assert found == 32 * 223 * 2 * 16 * 32 * 4 + 1920 * (223 * 5 + 6 * 448 * 4)


@pytest.mark.parametrize(("experts_per_token", "inner"), [(1, 96), (4, 96), (8, 192)])
def test_experts_take_as_much_of_a_prefill_as_estimated(tmp_path: Path, experts_per_token: int, inner: int) -> None:
    """Their number and their inner size count, not that of a feed-forward, which no layer has."""
    config = Qwen3MoeConfig(
        vocab_size=50, hidden_size=64, intermediate_size=4096, num_hidden_layers=2, num_attention_heads=2, head_dim=16,
        num_key_value_heads=2, max_position_embeddings=512, num_experts=16, num_experts_per_tok=experts_per_token,
        moe_intermediate_size=inner,
    )  # fmt: skip
    model, rows, length = Qwen3MoeForCausalLM(config).eval(), 16, 200
    model.save_pretrained(tmp_path)
    sampler = BatchedSampler(model, rows=rows, stop_ids=set(), temperature=1.0, seeds=[1])
    for row in range(rows):
        sampler.submit(row, [5 + row] * length, max_tokens=3)
    with PeakBytes([*model.parameters(), *model.buffers()]) as prefill:
        sampler.advance(block=False)
    cache = 2 * 2 * 2 * 16 * 4 * rows * 256  # keys and values of two layers and two heads of 16 float32, 256 columns
    found = rows * length * feed_forward_work(model_shape(str(tmp_path)), size=4)
    assert found / (prefill.bytes - cache) == pytest.approx(1, abs=0.05)
    # a pair: input 64, four times the inner size and a weight in float32, four indices of 8 bytes
    pair = 4 * (64 + 4 * inner + 1) + 32
    assert found == rows * length * (4 * 6 * 64 + experts_per_token * pair)


def test_the_cache_of_our_own_sampler_is_the_one_that_it_has() -> None:
    model, rows = small_model(), 3
    sampler = BatchedSampler(model, rows=rows, stop_ids=set(), temperature=1.0, seeds=[1])
    for row in range(rows):
        sampler.submit(row, [5] * 140, max_tokens=4)
    while sampler.advance():
        pass
    held = sum(store.nbytes for store in (*sampler.cache.keys, *sampler.cache.values))
    shape = shape_of(model)
    assert torch_memory(shape, context=144, rows=rows).cache == held
    assert torch_memory(shape, context=144, rows=rows).weights == sum(weight.nbytes for weight in model.parameters())


def test_compressed_keys_and_values_take_less_cache(tmp_path: Path) -> None:
    """Of two layers of four heads, each token has 24 numbers that keys and values are computed from, and 8 rotated
    ones; in full it would have 4 x (16 + 8) numbers twice."""
    config = DeepseekV3Config(
        vocab_size=50, hidden_size=32, intermediate_size=48, moe_intermediate_size=16, num_hidden_layers=2,
        num_attention_heads=4, num_key_value_heads=4, n_routed_experts=4, num_experts_per_tok=2, n_group=1,
        topk_group=1, first_k_dense_replace=1, q_lora_rank=16, kv_lora_rank=24, qk_nope_head_dim=16,
        qk_rope_head_dim=8, v_head_dim=16, max_position_embeddings=512,
    )  # fmt: skip
    model, rows = DeepseekV3ForCausalLM(config).eval(), 3
    model.save_pretrained(tmp_path)
    sampler = BatchedSampler(model, rows=rows, stop_ids=set(), temperature=1.0, seeds=[1])
    for row in range(rows):
        sampler.submit(row, [5 + row] * 140, max_tokens=4)
    while sampler.advance():
        pass
    held = sum(store.nbytes for store in (*sampler.cache.keys, *sampler.cache.values))
    shape = model_shape(str(tmp_path))
    assert torch_memory(shape, context=144, rows=rows).cache == held == 3 * 256 * 2 * (24 + 8) * 4
