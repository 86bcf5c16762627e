"""The memory that a run is said to need: by hand, and against what real learners, samplers and shards hold."""

from __future__ import annotations

import os
import weakref
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.distributed as dist
import torch.multiprocessing as processes
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves
from transformers import AutoConfig

from engine.cluster.activation_memory import activation_bytes, head_bytes
from engine.cluster.byte_units import format_bytes
from engine.cluster.learner_memory import LearnerMemory, learner_memory
from engine.cluster.memory import estimate
from engine.cluster.sampler_memory import torch_memory, vllm_memory
from engine.config import RunConfig, build_config
from engine.policies.adapter import add_adapter
from engine.policies.batched_sampler import BatchedSampler
from engine.policies.model_paths import BUNDLED
from engine.policies.model_shape import ModelShape, gated_decoder, model_shape
from engine.policies.vllm_start import cpu_arguments
from engine.training.learner import Learner
from engine.training.reference import FrozenCopy
from engine.training.sharding import Sharded
from tests.engine.models import small_model
from tests.engine.training.builders import learner_config, made_up_batch, update


def decoder(*, tied: bool = False) -> ModelShape:
    """236 parameters, 196 of them in the body: embedding 40, queries 16, keys 8, values 8, answer 16, feed-forward 3 x
    32, norms 3 x 4, head 40 (none if tied)."""
    sizes = {"hidden": 4, "heads": 2, "kv_heads": 1, "head_size": 2, "intermediate": 8, "vocabulary": 10, "layers": 1}
    weights = dict(gated_decoder(sizes, tied=tied))
    return ModelShape(architecture="", model_type="", positions=64, tied=tied, weights=weights, **sizes)


def of_learner(**more: Any) -> LearnerMemory:
    return learner_memory(decoder(), tokens=10, sampled=5, **more)


def test_one_learner_holds_weights_gradients_and_two_moments_of_four_bytes_each() -> None:
    found = of_learner()
    assert (found.weights, found.gradients, found.moments) == (944, 944, 1888)
    assert (found.reference, found.critic, found.gathered) == (0, 0, 0)
    assert found.stepping == 2 * 4 * 40  # of the embedding, the largest weight
    assert found.lasting == 944 + 1888
    # 2832 lasting, 944 of gradients, 4440 of activations (below)
    assert found.total == 8216


def test_a_moving_average_is_four_bytes_more_for_each_weight_that_trains() -> None:
    found = of_learner(average=True)
    assert found.average == 944
    assert found.lasting == of_learner().lasting + 944
    assert of_learner(average=True, lora_rank=1).average == of_learner(lora_rank=1).moments // 2


def test_no_more_rows_have_a_cache_than_are_decoded_at_once() -> None:
    """16 x 8 trajectories a step and 256 in the last evaluation, of 5 turns that share a context of 1,024 tokens."""
    shape = model_shape("tiny")
    whole, capped = (
        estimate(build_config({"cluster": {"sampler": "torch"}, "rollout": {"rows_at_once": most}}), shape, gpu=False)
        for most in (0, 32)
    )
    assert (whole.rows, capped.rows) == (256, 32)
    assert whole.sampler.cache == 8 * capped.sampler.cache


def test_activations_in_float32() -> None:
    # of each of 10 tokens: norms 4 x 4 and scales 2 + 2, linear inputs 2 x 4, attention 2 x 4 + 2 x 2, feed-forward
    # 4 x 8, which makes 72 numbers; then the last norm's 3 x 4, the 5 sampled tokens' own 4, and 5 x 10 of each
    # over the vocabulary
    assert activation_bytes(decoder(), tokens=10, sampled=5) == 4 * (10 * 72 + 10 * 12 + 5 * 4 + 5 * 50)


def test_the_logits_of_a_large_vocabulary_are_held_a_part_at_a_time() -> None:
    shape = replace(decoder(), hidden=896, vocabulary=151936)
    # 2^25 / 151936 = 220.8: of 220 tokens five numbers for each word; the head's gradient from a chunk, and the sum of
    # those of the micro-batch, beside that of earlier ones
    assert head_bytes(shape, sampled=2048) == head_bytes(shape, sampled=4096) == 4 * 151936 * (5 * 220 + 2 * 896)
    assert head_bytes(shape, sampled=100) == 4 * 151936 * 5 * 100


def test_an_embedding_that_is_the_head_has_two_gradients_at_a_time_where_it_trains() -> None:
    one_token = {"tokens": 1, "sampled": 1}
    tied, adapted = (learner_memory(decoder(tied=True), **one_token, lora_rank=rank) for rank in (0, 2))
    # one token's activations, 4 x (72 + 12 + 4 + 50) = 552 bytes, are more than the 40 numbers of the embedding
    assert tied.activations == adapted.activations == 552
    wide = replace(decoder(tied=True), weights={**decoder(tied=True).weights, "model.embed_tokens.weight": (1000, 4)})
    assert learner_memory(wide, **one_token).activations == 4 * 4000
    assert learner_memory(wide, **one_token, lora_rank=2).activations == 552


def test_the_gradient_of_a_head_from_a_part_of_the_tokens_is_not_held_where_the_head_is_frozen() -> None:
    shape = replace(decoder(), hidden=896, vocabulary=151936)
    assert head_bytes(shape, sampled=2048) - head_bytes(shape, sampled=2048, trained=False) == 2 * 4 * 151936 * 896


def test_activations_in_bfloat16() -> None:
    # norms and scales 20 x 4 bytes; linear inputs 5 x 4, attention 12, feed-forward 32: 64 x 2 bytes; and 144 numbers
    # of the matrices a second time, at 2 bytes
    wanted = 10 * (80 + 128) + 4 * (10 * 12 + 5 * 4 + 5 * 50) + 2 * 144
    assert activation_bytes(decoder(), tokens=10, sampled=5, half=True) == wanted


def test_activations_that_are_computed_again() -> None:
    # of a layer its input alone, 4 numbers; and then once all 72, which is more than the 250 of the vocabulary
    wanted = 4 * (10 * 4 + 10 * 12 + 5 * 4 + 10 * 72)
    assert activation_bytes(decoder(), tokens=10, sampled=5, checkpointing=True) == wanted


def test_three_learners_have_a_third_of_each_weights_first_axis_rounded_up() -> None:
    # embedding and head 4 x 4 each, queries and answer 2 x 4, keys and values 1 x 4, gate and up 3 x 4, down 2 x 8,
    # norms 2
    assert of_learner(learners=3).weights == 4 * (2 * 16 + 2 * 8 + 2 * 4 + 2 * 12 + 16 + 3 * 2)
    # a head that is the embedding stays whole, 40 numbers
    tied = learner_memory(decoder(tied=True), tokens=10, sampled=5, learners=3)
    assert tied.weights == 4 * (40 + 2 * 8 + 2 * 4 + 2 * 12 + 16 + 3 * 2)
    # while a layer computes, four times its 152 numbers, and the embedding
    assert of_learner(learners=3).gathered == 4 * (40 + 4 * 152)


def test_an_adapter_alone_trains() -> None:
    # of rank 2: queries and answer 2 x 4 + 4 x 2 each, keys and values 2 x 4 + 2 x 2, the feed-forward's three
    # 2 x 4 + 8 x 2
    found = of_learner(lora_rank=2, reference=True)
    assert found.weights == 4 * (236 + 128)
    assert (found.gradients, found.moments, found.reference) == (512, 1024, 0)
    some = of_learner(lora_rank=2, lora_targets="q_proj, down_proj")
    assert some.gradients == 4 * (16 + 24)


def test_a_reference_and_a_critic_are_further_models() -> None:
    found = of_learner(reference=True, critic=True)
    assert found.reference == 944
    # body 196 and value head 4 + 1: weights and two moments; its gradients are never beside the policy's
    assert found.critic == 3 * 4 * (196 + 5)
    assert found.gradients == 944


def test_each_of_several_learners_loads_its_own_part_and_the_first_saves_for_all() -> None:
    # with 100 learners an axis has 1 left: 4 + 4 + 4 + 4 + 4 + 4 + 4 + 8 + 4 + 3 = 43 numbers each, 39 of the body
    many = of_learner(learners=100, reference=True, critic=True)
    assert many.weights == 4 * 43
    assert many.loading == 4 * (43 + 43 + 39 + 5)
    # to save: the optimiser's state (8 x 236), the critic's (8 x 201) and the critic, less than one file's worth
    assert many.host == 8 * 236 + 8 * 201 + 4 * 201
    # without a critic there are but 8 x 236 to save, and as many to hand on: the weights, here and in Ray's store
    assert of_learner(learners=100).host == 2 * 944


def test_a_model_whose_files_cannot_be_read_in_parts_is_whole_in_each_learner_first() -> None:
    shape = replace(decoder(), in_parts=False)
    many = learner_memory(shape, tokens=10, sampled=5, learners=100, reference=True, critic=True)
    assert many.loading == 944 + max(944, many.reference + 4 * 201)
    # the first has a whole model to save from as well
    assert many.host == 944 + 8 * 236 + 8 * 201 + 4 * 201


def test_what_many_learners_of_72_billion_parameters_have_of_them_fits_into_80_gib() -> None:
    sizes = {"hidden": 8192, "heads": 64, "kv_heads": 8, "head_size": 128, "intermediate": 29568, "layers": 80}
    weights = dict(gated_decoder({**sizes, "vocabulary": 152064}, tied=False, biased=True))
    shape = replace(decoder(), weights=weights, vocabulary=152064, **sizes)
    assert round(shape.parameters / 1e9, 1) == 72.7
    more: dict[str, Any] = {"tokens": 2048, "sampled": 1024, "half": True, "checkpointing": True, "gpu": True}
    found = learner_memory(shape, learners=32, sends_weights=False, **more)
    # 4 + 4 + 8 bytes of 2.27 billion parameters, and no more while it loads than while it learns
    assert found.lasting + found.gradients == pytest.approx(16 * shape.parameters / 32, rel=1e-3)
    assert found.loading < found.total < 80 * 1024**3
    # to save: one file, and the weight that it ends with, of 152064 x 8192 numbers
    assert found.host == 4 * 1024**3 + 4 * 152064 * 8192


def test_on_a_gpu_the_step_of_the_optimiser_takes_a_copy_and_the_model_comes_by_way_of_the_machine() -> None:
    found = of_learner(gpu=True)
    assert (found.stepping, found.host) == (944, 944)
    few = learner_memory(decoder(), tokens=1, sampled=1, gpu=True)
    assert few.total == few.lasting + few.gradients + few.stepping  # activations of one token are less


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


def shape_of(model: Any) -> ModelShape:
    config = model.config
    return ModelShape(
        architecture="Qwen2ForCausalLM",
        model_type="qwen2",
        hidden=config.hidden_size,
        layers=config.num_hidden_layers,
        heads=config.num_attention_heads,
        kv_heads=config.num_key_value_heads,
        head_size=config.hidden_size // config.num_attention_heads,
        intermediate=config.intermediate_size,
        vocabulary=config.vocab_size,
        tied=config.tie_word_embeddings,
        positions=config.max_position_embeddings,
        weights={name: tuple(weight.shape) for name, weight in model.named_parameters()},
    )


CASES: dict[str, dict[str, Any]] = {
    "float32": {},
    "bfloat16": {"optimizer": {"precision": "bfloat16"}},
    "computed again": {"optimizer": {"gradient_checkpointing": True}},
    "bfloat16, computed again": {"optimizer": {"precision": "bfloat16", "gradient_checkpointing": True}},
    "packs": {"optimizer": {"packing": True}},
    "a head that is its embedding": {"tied": True},
    "an adapter": {"model": {"lora": {"rank": 8}}},
    "an adapter in bfloat16": {"model": {"lora": {"rank": 8}}, "optimizer": {"precision": "bfloat16"}},
    "a pull to the start in bfloat16": {"loss": {"kl_coefficient": 0.1}, "optimizer": {"precision": "bfloat16"}},
    "an adapter of some layers": {"model": {"lora": {"rank": 8, "targets": "q_proj,down_proj"}}},
    "a pull to the start": {"loss": {"kl_coefficient": 0.1}},
    "a critic": {"algorithm": {"type": "ppo"}},
}
ROWS, LENGTH = 16, 120


@pytest.mark.parametrize("case", CASES)
def test_a_real_learner_holds_what_was_estimated(case: str) -> None:
    """To the byte, but for activations: those are from 0.95 to 1.2 times what an update takes at its peak."""
    learner, shape = real_learner(**CASES[case])
    config = learner.config
    batch = made_up_batch((LENGTH,) * ROWS)
    batch.ids.clamp_(max=shape.vocabulary - 1)
    update(learner, batch)  # the optimiser's state is made in the first
    found = learner_memory(
        shape,
        tokens=ROWS * LENGTH,
        sampled=int(batch.mask.sum()),
        half=config.optimizer.precision == "bfloat16",
        lora_rank=config.model.lora.rank,
        lora_targets=config.model.lora.targets,
        critic=learner.critic is not None,
        reference=learner.reference is not None,
        checkpointing=config.optimizer.gradient_checkpointing,
    )
    policy, moments = list(learner.model.parameters()), moments_of(learner.optimizer)
    assert found.weights == size_of(policy)
    assert found.moments == size_of(moments)
    assert found.gradients >= size_of(weight for weight in policy if weight.requires_grad)
    frozen = learner.reference.frozen.parameters() if isinstance(learner.reference, FrozenCopy) else []
    assert found.reference == size_of(frozen)
    of_critic = []
    if learner.critic is not None and learner.critic_optimizer is not None:
        of_critic = [*learner.critic.parameters(), *moments_of(learner.critic_optimizer)]
    assert found.critic == size_of(of_critic)
    with Peak([*policy, *moments, *frozen, *of_critic, *learner.model.buffers()]) as peak:
        update(learner, batch)
    assert 0.95 < (found.gradients + found.activations) / peak.bytes < 1.2


def test_gradients_of_a_real_learner_are_what_was_estimated() -> None:
    for case in ("float32", "an adapter"):
        learner, shape = real_learner(**CASES[case])
        batch = made_up_batch((6, 9))
        learner.model.train()
        logprobs, _ = learner._logprobs_and_entropies(learner.model, batch)
        logprobs.sum().backward()
        held = size_of(weight.grad for weight in learner.model.parameters() if weight.grad is not None)
        assert learner_memory(shape, tokens=1, sampled=1, lora_rank=learner.config.model.lora.rank).gradients == held


def real_learner(**sections: Any) -> tuple[Learner, ModelShape]:
    model, shape, config = policy_of(**sections)
    return Learner(model, config), shape


def policy_of(*, tied: bool = False, **sections: Any) -> tuple[Any, ModelShape, RunConfig]:
    """A model, with an adapter where it has one, and the shape that it had before."""
    model, config = small_model(width=64, tied=tied), learner_config(**sections)
    shape = shape_of(model)
    if config.model.lora.rank:
        add_adapter(model, config.model.lora)
    return model, shape, config


def moments_of(optimizer: torch.optim.Optimizer) -> list[Tensor]:
    """Without the counters of steps, 4 bytes a weight, which are in the machine's own memory."""
    return [value for state in optimizer.state.values() for name, value in state.items() if name != "step"]


def size_of(tensors: Any) -> int:
    return sum(tensor.nbytes for tensor in tensors)


class Peak(TorchDispatchMode):
    """The most bytes that lay at once in tensors made within it; `known` were there before."""

    def __init__(self, known: list[Tensor]) -> None:
        super().__init__()
        self.sizes = {tensor.untyped_storage()._cdata: 0 for tensor in known}
        self.held = self.bytes = 0

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        made = function(*args, **(kwargs or {}))
        for one in tree_leaves(made):
            if isinstance(one, Tensor) and (storage := one.untyped_storage())._cdata not in self.sizes:
                self.sizes[storage._cdata] = storage.nbytes()
                self.held += storage.nbytes()
                self.bytes = max(self.bytes, self.held)
                weakref.finalize(storage, self._released, storage._cdata)
        return made

    def _released(self, pointer: int) -> None:
        self.held -= self.sizes.pop(pointer, 0)


SHARDED = ("a critic", "a head that is its embedding", "an adapter")


@pytest.mark.slow
def test_shards_of_two_real_learners_are_what_was_estimated(tmp_path: Path) -> None:
    processes.spawn(hold_shards, args=(tmp_path,), nprocs=2)
    held = torch.load(tmp_path / "held.pt", weights_only=True)
    for case in SHARDED:
        _, shape, config = policy_of(**CASES[case])
        rank, critic = config.model.lora.rank, config.algorithm.critic_settings is not None
        found = learner_memory(shape, tokens=1, sampled=1, lora_rank=rank, critic=critic, learners=2)
        assert held[case] == {"weights": found.weights, "moments": found.moments, "critic": found.critic}, case


def hold_shards(rank: int, folder: Path) -> None:
    """The first of two has the larger part where an axis does not divide, and tells."""
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{folder}/meet", rank=rank, world_size=2)
    held = {case: shard_sizes(CASES[case]) for case in SHARDED}
    if rank == 0:
        torch.save(held, folder / "held.pt")
    dist.barrier()
    os._exit(0)  # gloo's threads hang in the interpreter's own end


def shard_sizes(sections: dict[str, Any]) -> dict[str, int]:
    model, _, config = policy_of(**sections)
    learner = Learner(model, config, share=Sharded())
    update(learner, made_up_batch((6, 9, 12, 4)))
    critic: list[Tensor] = []
    if learner.critic is not None and learner.critic_optimizer is not None:
        critic = [*learner.critic.parameters(), *moments_of(learner.critic_optimizer)]
    return {
        "weights": size_of(map(own_part, learner.model.parameters())),
        "moments": size_of(map(own_part, moments_of(learner.optimizer))),
        "critic": size_of(map(own_part, critic)),
    }


def own_part(tensor: Any) -> Tensor:
    part: Tensor = tensor.to_local() if hasattr(tensor, "to_local") else tensor
    return part


def run(**sections: Any) -> Any:
    return build_config({"backend": "ray", "diagnostics": {"gradients_every": 0}, **sections})


def test_a_run_is_estimated_by_its_own_numbers() -> None:
    config = run(rollout={"groups": 3, "group_size": 4, "max_context_tokens": 500}, cluster={"samplers": 2})
    found = estimate(config, model_shape("tiny"), gpu=False)
    assert (found.rows, found.context, found.gpu) == (6, 500, False)
    # 12 trajectories in two mini-batches: 6 x 500 tokens are more than go through a CPU at once
    assert found.tokens == 2048
    few = run(rollout={"groups": 1, "group_size": 2, "max_context_tokens": 500})
    assert estimate(few, model_shape("tiny"), gpu=False).tokens == 500
    long = run(rollout={"max_context_tokens": 8000})
    assert estimate(long, model_shape("tiny"), gpu=False).context == 2048  # as far as the model has positions


def test_the_precision_left_open_is_half_on_a_gpu_alone() -> None:
    shape = model_shape("tiny")
    on_cpu, on_gpu = (estimate(run(), shape, gpu=gpu).sampler.weights for gpu in (False, True))
    assert (on_cpu, on_gpu) == (609_920 * 4, 609_920 * 2)
    assert estimate(run(optimizer={"precision": "float32"}), shape, gpu=True).sampler.weights == on_cpu


def test_more_learners_smaller_micro_batches_and_adapters_need_less() -> None:
    shape = model_shape("tiny")

    def total(**sections: Any) -> int:
        return estimate(run(**sections), shape, gpu=True).learner.total

    usual = total()
    assert total(cluster={"learners": 8}) < usual
    assert total(optimizer={"micro_batch_tokens": 2048}) < usual
    assert total(model={"lora": {"rank": 8}}) < usual
    assert total(optimizer={"gradient_checkpointing": True}) < usual
    assert total(algorithm={"type": "ppo"}) > usual


def test_the_estimate_is_said_in_words() -> None:
    config = run(cluster={"samplers": 2, "learners": 4})
    sampler, learner, machine = estimate(config, model_shape("tiny"), gpu=True).sentences()
    assert sampler.startswith("Each of 2 samplers needs about ")
    assert "cache for 64 trajectories of 1,024 tokens 64.0 MiB" in sampler
    assert learner.startswith("Each of 4 learners needs at most about ")
    assert "activations" in learner
    assert machine.startswith("The first one's machine needs ")


@pytest.mark.parametrize(
    ("size", "words"),
    [(0, "0 bytes"), (1023, "1023 bytes"), (1536, "1.5 KiB"), (80 * 1024**3, "80.0 GiB"), (2.0**60, "1024 PiB")],
)
def test_bytes_in_words(size: float, words: str) -> None:
    assert format_bytes(size) == words
