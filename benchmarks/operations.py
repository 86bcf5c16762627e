"""Floating-point operations of a decoder, counted from its shape alone, and shapes from a few sizes.

After PaLM's appendix B (arXiv 2204.02311), which defines model FLOP utilisation: what the model has to compute, without
what is computed a second time. A multiplication with a matrix of n numbers is 2 n for each token; the way back is twice
the way there. Attention's two products are 4 x width of all heads for each pair of tokens, and a causal token sees half
of its row on average, so half of PaLM's 12 L H Q T is counted. Embeddings are looked up, norms and activations are left
out. The head is counted for tokens that have a log-probability, since the learner computes no others.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from engine.policies.assumed_weights import gated_decoder
from engine.policies.model_shape import ModelShape


def forward_operations(shape: ModelShape, *, tokens: float, length: float, scored: float) -> float:
    """For `tokens` in rows of `length`, `scored` of which get logits."""
    layers = 2.0 * tokens * shape.layers * layer_numbers(shape)
    attention = 4.0 * tokens * (length / 2) * shape.layers * shape.heads * shape.head_size
    return layers + attention + head_operations(shape, scored)


def update_operations(shape: ModelShape, *, tokens: float, length: float, scored: float) -> float:
    """The same with the backward pass."""
    return 3 * forward_operations(shape, tokens=tokens, length=length, scored=scored)


def layer_numbers(shape: ModelShape) -> int:
    """Of the matrices of one layer of a gated decoder: queries and their answer, keys and values, and three inner."""
    queries, keys = shape.heads * shape.head_size, shape.kv_heads * shape.head_size
    return shape.hidden * (2 * queries + 2 * keys + 3 * shape.intermediate)


def head_operations(shape: ModelShape, scored: float) -> float:
    return 2.0 * scored * shape.hidden * shape.vocabulary


def qwen2(sizes: Mapping[str, int | float | bool]) -> ModelShape:
    """The shape of a Qwen2 from the sizes in its config.json."""
    heads, hidden = int(sizes["num_attention_heads"]), int(sizes["hidden_size"])
    found: dict[str, Any] = {
        "hidden": hidden,
        "layers": int(sizes["num_hidden_layers"]),
        "heads": heads,
        "kv_heads": int(sizes["num_key_value_heads"]),
        "head_size": hidden // heads,
        "intermediate": int(sizes["intermediate_size"]),
        "vocabulary": int(sizes["vocab_size"]),
        "positions": int(sizes["max_position_embeddings"]),
    }
    tied = bool(sizes["tie_word_embeddings"])
    weights = dict(gated_decoder(found, tied=tied, biased=True))
    return ModelShape(
        architecture="Qwen2ForCausalLM", model_type="qwen2", tied=tied, weights=weights, in_parts=True, **found
    )
