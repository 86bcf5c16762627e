"""Shapes whose memory is worked out in tests: one small enough for it, and those of real small models."""

from __future__ import annotations

from typing import Any

from engine.cluster.learner_memory import LearnerMemory, learner_memory
from engine.policies.assumed_weights import gated_decoder
from engine.policies.model_shape import ModelShape


def decoder(*, tied: bool = False) -> ModelShape:
    """236 parameters, 196 of them in the body: embedding 40, queries 16, keys 8, values 8, answer 16, feed-forward 3 x
    32, norms 3 x 4, head 40 (none if tied)."""
    sizes = {"hidden": 4, "heads": 2, "kv_heads": 1, "head_size": 2, "intermediate": 8, "vocabulary": 10, "layers": 1}
    weights = dict(gated_decoder(sizes, tied=tied))
    return ModelShape(architecture="", model_type="", positions=64, tied=tied, weights=weights, **sizes)


def of_learner(**more: Any) -> LearnerMemory:
    return learner_memory(decoder(), tokens=10, sampled=5, **more)


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
