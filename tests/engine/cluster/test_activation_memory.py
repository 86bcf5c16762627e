"""The memory of activations and of a head over a vocabulary, by hand."""

from __future__ import annotations

from dataclasses import replace

from engine.cluster.activation_memory import activation_bytes, head_bytes
from engine.cluster.learner_memory import learner_memory
from engine.policies.assumed_weights import gated_decoder
from tests.engine.cluster.memory_shapes import decoder


def test_activations_in_float32() -> None:
    # of each of 10 tokens: norms 4 x 4 and scales 2 + 2, linear inputs 2 x 4, attention 2 x 4 + 2 x 2, feed-forward
    # 4 x 8, which makes 72 numbers; then the last norm's 3 x 4, the 5 sampled tokens' own 4 and 2 x 10 of each over
    # the vocabulary, and the head's gradient, 4 x 10
    assert activation_bytes(decoder(), tokens=10, sampled=5) == 4 * (10 * 72 + 10 * 12 + 5 * 4 + 5 * 20 + 40)


def test_the_logits_of_a_large_vocabulary_are_held_a_part_at_a_time() -> None:
    shape = replace(decoder(), hidden=896, vocabulary=151936)
    # 2^25 / 151936 = 220.8: of 220 tokens two numbers for each word, three if they are soft-capped; the head's gradient
    # from the micro-batch, beside that from earlier ones
    assert head_bytes(shape, sampled=2048) == head_bytes(shape, sampled=4096) == 4 * 151936 * (2 * 220 + 896)
    assert head_bytes(shape, sampled=100) == 4 * 151936 * (2 * 100 + 896)
    assert head_bytes(replace(shape, caps_logits=True), sampled=100) == 4 * 151936 * (3 * 100 + 896)


def test_an_embedding_that_is_the_head_has_two_gradients_at_a_time_where_it_trains() -> None:
    one_token = {"tokens": 1, "sampled": 1}
    tied, adapted = (learner_memory(decoder(tied=True), **one_token, lora_rank=rank) for rank in (0, 2))
    # one token's activations, 4 x (72 + 12 + 4 + 20 + 40) = 592 bytes, are more than the 40 numbers of the embedding
    assert (tied.activations, adapted.activations) == (592, 432)
    wide = replace(decoder(tied=True), weights={**decoder(tied=True).weights, "model.embed_tokens.weight": (1000, 4)})
    assert learner_memory(wide, **one_token).activations == 4 * 4000
    assert learner_memory(wide, **one_token, lora_rank=2).activations == 432


def test_no_gradient_of_a_frozen_head_is_held() -> None:
    shape = replace(decoder(), hidden=896, vocabulary=151936)
    assert head_bytes(shape, sampled=2048) - head_bytes(shape, sampled=2048, trained=False) == 4 * 151936 * 896


def test_activations_in_bfloat16() -> None:
    # norms and scales 20 x 4 bytes; linear inputs 5 x 4, attention 12, feed-forward 32: 64 x 2 bytes; and 144 numbers
    # of the matrices a second time, at 2 bytes
    wanted = 10 * (80 + 128) + 4 * (10 * 12 + 5 * 4 + 5 * 20 + 40) + 2 * 144
    assert activation_bytes(decoder(), tokens=10, sampled=5, half=True) == wanted


def test_experts_which_compute_in_float32_are_not_rounded() -> None:
    expert = {"model.layers.0.mlp.experts.0.up_proj.weight": (8, 4), "model.layers.0.mlp.gate.weight": (2, 4)}
    shape = replace(decoder(), weights={**decoder().weights, **expert})
    rounded, plain = (activation_bytes(shape, tokens=10, sampled=5, half=True, rounded=kept) for kept in (True, False))
    assert rounded - plain == 2 * 144  # the other matrices


def test_only_the_largest_layer_is_computed_again_at_a_time() -> None:
    """As of a model whose first layer is dense, and whose later ones have experts."""
    sizes = {"hidden": 4, "heads": 2, "kv_heads": 1, "head_size": 2, "intermediate": 8, "vocabulary": 10, "layers": 2}
    weights = dict(gated_decoder(sizes, tied=False))
    smaller = {name: size for name, size in weights.items() if ".1.mlp." not in name}
    both, one = (replace(decoder(), layers=2, weights=each) for each in (weights, smaller))
    more = {"tokens": 10, "sampled": 5}
    # the second layer has no feed-forward, 4 x 8 numbers of each token
    assert activation_bytes(both, **more) - activation_bytes(one, **more) == 4 * 10 * 32
    again = {**more, "checkpointing": True}
    assert activation_bytes(both, **again) == activation_bytes(one, **again)


def test_capped_scores_are_kept_for_each_pair_of_tokens() -> None:
    capped = replace(decoder(), caps_scores=True)
    wanted = activation_bytes(decoder(), tokens=10, sampled=5)
    # two sequences of 5 tokens: 8 bytes of 2 heads x 10 x 5 pairs in place of 2 x 10 scales; keys and values of the
    # second head, 2 numbers each; a mask of 10 x 5
    more = 8 * 100 - 4 * 20 + 4 * 2 * 10 * 2 + 50
    assert activation_bytes(capped, tokens=10, sampled=5, context=5) == wanted + more
    again = {"tokens": 10, "sampled": 5, "checkpointing": True}
    # that of one layer, and the scores' gradient
    assert activation_bytes(capped, context=5, **again) == activation_bytes(decoder(), **again) + more + 4 * 100


def test_a_window_has_a_mask_where_sequences_are_longer() -> None:
    windowed = replace(decoder(), window=4, windowed_layers=1)
    wanted = activation_bytes(decoder(), tokens=10, sampled=5)
    assert activation_bytes(windowed, tokens=10, sampled=5, context=4) == wanted
    assert activation_bytes(windowed, tokens=10, sampled=5, context=5) == wanted + 4 * 2 * 10 * 2 + 4 * 50


def test_activations_that_are_computed_again() -> None:
    # of a layer its input alone, 4 numbers; and then once all 72, which is more than the 140 of the vocabulary
    wanted = 4 * (10 * 4 + 10 * 12 + 5 * 4 + 10 * 72)
    assert activation_bytes(decoder(), tokens=10, sampled=5, checkpointing=True) == wanted
