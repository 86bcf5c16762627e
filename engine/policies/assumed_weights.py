"""The weights that a model is taken to have where its files do not tell: those of a gated decoder."""

from __future__ import annotations

from collections.abc import Iterator, Mapping


def gated_decoder(
    shape: Mapping[str, int], *, tied: bool, biased: bool = False
) -> Iterator[tuple[str, tuple[int, ...]]]:
    """Weights of a decoder with a gated feed-forward, as Llama, Mistral and Qwen2 have them (`biased`: Qwen2's); with
    `experts` in its place those that transformers merges, as of Qwen3.

    For a model whose weights are not on this machine, or not in safetensors.
    """
    wide, inner = shape["hidden"], shape["intermediate"]
    queries, keys = shape["heads"] * shape["head_size"], shape["kv_heads"] * shape["head_size"]
    yield "model.embed_tokens.weight", (shape["vocabulary"], wide)
    for layer in range(shape["layers"]):
        prefix = f"model.layers.{layer}"
        for name, out in (("q", queries), ("k", keys), ("v", keys)):
            yield f"{prefix}.self_attn.{name}_proj.weight", (out, wide)
            if biased:
                yield f"{prefix}.self_attn.{name}_proj.bias", (out,)
        yield f"{prefix}.self_attn.o_proj.weight", (wide, queries)
        if experts := shape.get("experts", 0):
            width = shape["expert_intermediate"]
            yield f"{prefix}.mlp.gate.weight", (experts, wide)
            yield f"{prefix}.mlp.experts.gate_up_proj", (experts, 2 * width, wide)
            yield f"{prefix}.mlp.experts.down_proj", (experts, wide, width)
        else:
            yield f"{prefix}.mlp.gate_proj.weight", (inner, wide)
            yield f"{prefix}.mlp.up_proj.weight", (inner, wide)
            yield f"{prefix}.mlp.down_proj.weight", (wide, inner)
        yield f"{prefix}.input_layernorm.weight", (wide,)
        yield f"{prefix}.post_attention_layernorm.weight", (wide,)
    yield "model.norm.weight", (wide,)
    if not tied:
        yield "lm_head.weight", (shape["vocabulary"], wide)
