"""What several learners are said to gather, by hand."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from engine.cluster.gathered_memory import gathered_bytes
from engine.policies.model_shape import ModelShape, Sizes
from tests.engine.cluster.memory_shapes import decoder, of_learner

LAYER, EMBEDDING, HEAD = 152, 40, 40  # numbers of the decoder
ADAPTER: dict[str, Sizes] = {f"model.layers.0.self_attn.q_proj.lora_{part}": (4, 2) for part in "AB"}


def gathered(shape: ModelShape, added: Mapping[str, Sizes] | None = None, *, half: bool = False) -> int:
    """Beside activations that are larger than what there is without them."""
    return gathered_bytes(shape, added or {}, activations=10**9, half=half)


def test_a_layer_is_gathered_in_the_precision_that_it_computes_in_and_reduced_in_float32() -> None:
    # the weights of a layer, what those of the next are copied from, and gradients; and those of another in float32
    assert gathered(decoder()) == 4 * (EMBEDDING + 4 * LAYER)
    assert gathered(decoder(), half=True) == 4 * EMBEDDING + (3 * 2 + 4) * LAYER
    assert of_learner(learners=2, half=True).gathered == 4 * EMBEDDING + 10 * LAYER
    assert of_learner(half=True).gathered == 0


def test_frozen_weights_have_no_gradients() -> None:
    # an adapter of 2 x 4 + 4 x 2 numbers: in the forward pass a layer, and what two were copied from, are more than in
    # the backward pass a layer, what the next is copied from, and the adapter's gradients
    assert gathered(decoder(), ADAPTER) == 4 * (EMBEDDING + 3 * (LAYER + 16))
    assert gathered(decoder(), ADAPTER, half=True) == 4 * EMBEDDING + 2 * 3 * (LAYER + 16)


def test_an_embedding_that_is_the_head_is_whole_anyway() -> None:
    assert gathered(decoder(tied=True), half=True) == 10 * LAYER


def test_a_large_head_is_gathered_alone() -> None:
    head = replace(decoder(), weights={**decoder().weights, "lm_head.weight": (10_000, 4)})
    # beside its gradient, which is counted among activations; or, if it is frozen, what it was copied from
    assert gathered(head, half=True) == 4 * 40_000
    assert gathered(head, ADAPTER, half=True) == 2 * 4 * 40_000


def test_a_large_embedding_is_gathered_when_there_are_no_activations() -> None:
    shape = replace(decoder(), weights={**decoder().weights, "model.embed_tokens.weight": (10_000, 4)})
    assert gathered(shape, half=True) == 2 * 4 * 40_000  # with what it was copied from
    # before the layers: and a layer, and what that was copied from
    before = gathered_bytes(shape, ADAPTER, activations=100, half=True)
    assert before == 2 * 4 * 40_000 + 2 * 2 * (LAYER + 16) - 100
    # after them: its gradient, and those of the head and the first layer in float32
    after = gathered_bytes(shape, {}, activations=100, half=True)
    assert after == 2 * 4 * 40_000 + 4 * (HEAD + LAYER) - 100
