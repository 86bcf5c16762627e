"""The memory that a learner is said to need, by hand."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from engine.cluster.learner_memory import learner_memory, moment_bytes
from engine.cluster.memory import checkpoint_sentences
from engine.policies.assumed_weights import gated_decoder
from tests.engine.cluster.memory_shapes import decoder, of_learner


def test_one_learner_holds_weights_gradients_and_two_moments_of_four_bytes_each() -> None:
    found = of_learner()
    assert (found.weights, found.gradients, found.moments) == (944, 944, 1888)
    assert (found.reference, found.critic, found.gathered) == (0, 0, 0)
    assert found.stepping == 0  # the fused kernel takes no temporaries
    assert found.lasting == 944 + 1888
    # 2832 lasting, 944 of gradients, 4000 of activations (below)
    assert found.total == 7776


def test_a_moving_average_is_four_bytes_more_for_each_weight_that_trains() -> None:
    found = of_learner(average=True)
    assert found.average == 944
    assert found.lasting == of_learner().lasting + 944
    assert of_learner(average=True, lora_rank=1).average == of_learner(lora_rank=1).moments // 2


def test_a_checkpoint_in_the_background_is_written_from_a_copy() -> None:
    # the model, 4 bytes for each of 236 weights, and 8 of moments
    found = of_learner(background="always")
    assert found.copy == 4 * 236 + 8 * 236
    assert found.total == of_learner().total + found.copy
    # on a GPU it is in main memory, which held the model before
    on_a_gpu = of_learner(background="always", gpu=True, sends_weights=False)
    assert (on_a_gpu.copy, on_a_gpu.host) == (0, 12 * 236)
    assert of_learner(background="always", average=True).copy == 16 * 236
    # an adapter of rank 2 has 128 weights: itself, its average and its moments; and 144 merged weights are written
    assert of_learner(background="always", average=True, lora_rank=2).copy == 4 * 144 + (4 + 4 + 8) * 128
    # the critic's body and head are saved with their moments
    assert of_learner(background="always", critic=True).copy == 12 * 236 + 12 * (196 + 5)


def test_weights_that_are_sent_stay_in_the_object_store_and_are_in_main_memory_once_more_meanwhile() -> None:
    on_a_cpu, on_a_gpu = of_learner(), of_learner(gpu=True)
    # on a CPU they are there already; from a GPU they are copied
    assert (on_a_cpu.host, on_a_gpu.host) == (944, 2 * 944)
    assert of_learner(sends_weights=False).host == 0
    # 128 weights of the adapter; merged matrices are computed
    assert of_learner(lora_rank=2).host == 2 * (944 + 4 * 128)
    # the copy for a checkpoint is there together with those in the store
    assert of_learner(gpu=True, background="always").host == 12 * 236 + 944


def test_a_checkpoint_of_an_adapter_is_written_from_merged_matrices_in_main_memory() -> None:
    # 16 + 8 + 8 + 16 + 3 x 32 of the 236 weights are in matrices that have an adapter
    found = of_learner(lora_rank=2)
    assert found.saving == 4 * 144
    assert of_learner(lora_rank=2, gpu=True).saving == 0
    assert of_learner(lora_rank=2, background="always").saving == 0  # those are in the copy
    assert of_learner().saving == 0
    # in bfloat16 they are half of the base's matrices, which are all there are
    assert of_learner(lora_rank=2, half=True).saving == 4 * 144
    # from a GPU all weights of the base are copied
    on_a_gpu = of_learner(lora_rank=2, gpu=True, sends_weights=False, background="always")
    assert on_a_gpu.host == max(4 * (236 + 128), 4 * 236 + 12 * 128)


def test_merged_matrices_are_held_as_far_as_one_file_reaches() -> None:
    layers = {f"layers.{number}.up.weight": (2**14, 2**14) for number in range(8)}  # 1 GiB each in float32
    shape = replace(decoder(), weights=layers)
    assert learner_memory(shape, tokens=0, sampled=0, lora_rank=2).saving == 5 * 2**30  # 4 in a file, and the next one
    whole = replace(shape, in_parts=False)
    assert learner_memory(whole, tokens=0, sampled=0, lora_rank=2).saving == 8 * 2**30
    short = learner_memory(decoder(), tokens=0, sampled=0, lora_rank=2)
    assert short.certain == short.lasting + short.saving


def test_a_copy_for_which_memory_is_not_needed_is_not_counted() -> None:
    small = of_learner(background="auto")
    assert (small.copy, small.copy_if_free, small.total) == (0, 0, of_learner().total)
    large = learner_memory(
        replace(decoder(), weights={"embedding": (50_000_001, 1)}), tokens=1, sampled=1, background="auto"
    )
    assert (large.copy, large.copy_if_free) == (0, 12 * 50_000_001)


def test_each_of_several_learners_copies_its_part() -> None:
    two = of_learner(learners=2)
    # weights and moments, and the average beside them
    assert of_learner(learners=2, background="always").copy == two.weights + two.moments
    assert of_learner(learners=2, background="always", average=True).copy == 2 * two.weights + two.moments
    # of an adapter only what trains, where the frozen weights are in main memory too: 64 of its 128 weights each, with
    # two moments
    assert of_learner(learners=2, background="always", lora_rank=2).copy == 12 * 64
    # its frozen weights come from a GPU; the copies of both are on one machine
    on_a_gpu, without = (of_learner(learners=2, gpu=True, lora_rank=2, background=how) for how in ("always", "never"))
    assert on_a_gpu.copy == 0
    assert on_a_gpu.host == without.host + 2 * (on_a_gpu.weights + 8 * 64)


def test_moments_in_8_bits_are_a_byte_each_and_a_scale_for_256_of_them() -> None:
    assert moment_bytes(4095) == 2 * 4 * 4095  # too small
    assert moment_bytes(4096) == 2 * (4096 + 4 * 16)
    assert moment_bytes(5000) == 2 * (5000 + 4 * 20)  # 19 blocks, and a shorter one
    shape = replace(decoder(), weights={"embedding": (100, 64), "norm": (64,)})
    whole, eight = (learner_memory(shape, tokens=1, sampled=1, eight_bit=eight_bit) for eight_bit in (False, True))
    assert (whole.moments, eight.moments) == (8 * 6464, 2 * (6400 + 4 * 25) + 8 * 64)
    assert (eight.weights, eight.gradients) == (whole.weights, whole.gradients) == (4 * 6464, 4 * 6464)
    # in the step 5 float32 of each number of the largest on a CPU, and nothing on a GPU
    on_a_gpu = learner_memory(shape, tokens=1, sampled=1, eight_bit=True, gpu=True)
    assert (eight.stepping, on_a_gpu.stepping) == (5 * 4 * 6400, 0)
    assert (
        learner_memory(shape, tokens=1, sampled=1, eight_bit=True, background="always").copy == 4 * 6464 + eight.moments
    )


def test_three_learners_have_a_third_of_each_weights_first_axis_rounded_up() -> None:
    # embedding and head 4 x 4 each, queries and answer 2 x 4, keys and values 1 x 4, gate and up 3 x 4, down 2 x 8,
    # norms 2
    assert of_learner(learners=3).weights == 4 * (2 * 16 + 2 * 8 + 2 * 4 + 2 * 12 + 16 + 3 * 2)
    # a head that is the embedding stays whole, 40 numbers
    tied = learner_memory(decoder(tied=True), tokens=10, sampled=5, learners=3)
    assert tied.weights == 4 * (40 + 2 * 8 + 2 * 4 + 2 * 12 + 16 + 3 * 2)
    # while a layer computes, four times its 152 numbers, and the embedding
    assert of_learner(learners=3).gathered == 4 * (40 + 4 * 152)


def test_layers_that_are_gathered_in_bfloat16_are_not_rounded_again() -> None:
    # of each of the 144 numbers of matrices, 2 bytes
    one, three = (of_learner(half=True, learners=learners).activations for learners in (1, 3))
    assert one - three == 2 * 144


def test_an_adapter_alone_trains() -> None:
    # of rank 2: queries and answer 2 x 4 + 4 x 2 each, keys and values 2 x 4 + 2 x 2, the feed-forward's three
    # 2 x 4 + 8 x 2
    found = of_learner(lora_rank=2, reference=True)
    assert found.weights == 4 * (236 + 128)
    assert (found.gradients, found.moments, found.reference) == (512, 1024, 0)
    some = of_learner(lora_rank=2, lora_targets="q_proj, down_proj")
    assert some.gradients == 4 * (16 + 24)


def test_an_adapter_of_layers_that_are_stored_as_in_and_out_is_split_along_its_own_axes() -> None:
    # of GPT-2's queries, keys and values, (4, 12), at rank 2: (2, 4) and (12, 2)
    gpt = replace(decoder(), model_type="gpt2", weights={"h.0.attn.c_attn.weight": (4, 12)})
    found = [learner_memory(gpt, tokens=1, sampled=1, lora_rank=2, learners=learners) for learners in (1, 2, 3)]
    # a half and a third of the first axes, rounded up: 1 x 4 + 6 x 2, and 1 x 4 + 4 x 2
    assert [one.gradients for one in found] == [4 * 32, 4 * 16, 4 * 12]


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


@pytest.mark.parametrize(
    ("rank", "reference", "whole"), [(2, False, False), (2, True, False), (0, False, True), (0, True, True)]
)
def test_each_of_several_learners_loads_the_whole_where_an_adapter_is_merged(
    rank: int, reference: bool, whole: bool
) -> None:
    # with a rank the policy trains the adapter; without one it is merged into the policy and the reference
    found = of_learner(learners=3, lora_rank=rank, reference=reference, starts_from_adapter=True)
    assert (found.loading >= 4 * 236) == whole


def test_the_reference_of_a_trained_adapter_is_the_adapter_that_the_run_starts_from() -> None:
    # an adapter of rank 2 has 128 weights of 4 bytes; the weights under it are those of the policy
    with_one = of_learner(lora_rank=2, reference=True, starts_from_adapter=True)
    assert with_one.reference == 4 * 128
    assert of_learner(lora_rank=2, reference=True).reference == 0
    assert of_learner(lora_rank=2, starts_from_adapter=True).reference == 0
    of_two = of_learner(lora_rank=2, reference=True, starts_from_adapter=True, learners=2)
    assert of_two.reference == 4 * 64


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


def test_on_a_gpu_the_model_comes_by_way_of_the_machine() -> None:
    found = of_learner(gpu=True, sends_weights=False)
    assert (found.stepping, found.host) == (0, 944)


def test_a_plan_that_is_largest_while_a_checkpoint_is_written_says_so() -> None:
    short = learner_memory(decoder(), tokens=0, sampled=0, lora_rank=2)
    assert checkpoint_sentences(short) == ["That is while a checkpoint is written, with 576 bytes of merged weights."]
    # 512 of gradients and 100 of activations are more than the 576 of merged matrices
    assert checkpoint_sentences(replace(short, activations=100)) == []
