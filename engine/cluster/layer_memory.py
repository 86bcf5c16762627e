"""What autograd saves of one layer for the backward pass, as transformers' models compute it under PyTorch 2.13."""

from __future__ import annotations

from math import ceil

from engine.cluster.byte_units import FLOAT, HALF, INDEX
from engine.config.learning import MAX_PADDING
from engine.policies.layer_shapes import LayerShape, NormShape
from engine.policies.model_shape import ModelShape


def layer_bytes(
    shape: ModelShape,
    layer: LayerShape,
    *,
    tokens: int,
    half: bool,
    gathered: bool = False,
    packing: bool = False,
) -> int:
    """Of `tokens` tokens in float32, or in bfloat16 autocast (`half`), to the byte where every weight trains.

    With hidden size D, inner size I, and query and key sizes q and k over all heads, each token has

    - the norms, see `norm_bytes`,
    - the inputs of the linear layers: in float32 one D for the attention and one for the feed-forward, which share it;
      in bfloat16 `autocast` makes a copy for each layer that reads it, which the router is too,
    - queries and the attention's output, keys and values: 2 q + 2 k, and its scales, a float32 for each head. Where one
      matrix computes all three and positions rotate some, its result stays for the values, q + k more, and the output
      is arranged once more: q. In packs all of them are in padded rows, with three indices and a byte for each place;
      and the output once more in the pack, with an index (`engine.policies.attention`),
    - of a gated feed-forward gate, its activation, up and their product: 4 I. Without a gate up to 5 I, as of GPT-2's
      approximation of GELU,
    - the experts, see `expert_bytes`; `gathered`: FSDP2 gathers the weights in bfloat16.

    Attention saves no scores (FlashAttention, arXiv 2205.14135).
    """
    size = HALF if half else FLOAT
    queries, keys = shape.heads * shape.head_size, shape.kv_heads * shape.head_size
    inputs = layer.readers + layer.routed if half else 2
    rows = ceil(MAX_PADDING * tokens) if packing else tokens
    attention = rows * (size * 2 * (queries + keys) + FLOAT * shape.heads)
    if packing:
        attention += rows * (3 * INDEX + 1) + tokens * (size * queries + INDEX)
    elif layer.fused:
        attention += tokens * size * (2 * queries + keys)
    feed_forward = (4 if layer.gated else 5) * layer.inner
    linear = tokens * size * (inputs * shape.hidden + feed_forward)
    experts = expert_bytes(shape, tokens=tokens, half=half, gathered=gathered) if layer.routed else 0
    norms = sum(norm_bytes(shape, norm, tokens=tokens, half=half) for norm in layer.norms)
    return norms + attention + linear + experts


def gradient_bytes(
    shape: ModelShape, layer: LayerShape, *, tokens: int, context: int, half: bool, gathered: bool = False
) -> int:
    """What the backward pass of a layer takes before any of what it saved is freed, where that is much: gradients of
    capped scores, of the experts' output for each pair and token, and of a feed-forward without a gate."""
    size, computed = HALF if half else FLOAT, HALF if half and gathered else FLOAT
    scores = size * tokens * shape.heads * context if shape.caps_scores else 0
    pairs = tokens * max(1, shape.experts_per_token) if layer.routed else 0
    return scores + computed * pairs * 2 * shape.hidden + (0 if layer.gated else size * tokens * layer.inner)


def norm_bytes(shape: ModelShape, norm: NormShape, *, tokens: int, half: bool) -> int:
    """The input, and of an RMSNorm (arXiv 1910.07467) the normalised input, in float32 with its scale.

    The product of the normalised queries and keys with their weight is that of numbers rounded to bfloat16 again, but
    in Gemma's norms, which round it last; and these save the weight plus 1 (`Qwen3RMSNorm` and `Gemma3RMSNorm` of
    transformers). A LayerNorm saves its mean, and computes the normalised input once more.
    """
    if norm.centres:
        return FLOAT * tokens * (norm.size + 2 * norm.groups)
    normalised = HALF if half and norm.of_heads and not shape.rounds_norms_last else FLOAT
    added = FLOAT * norm.size // norm.groups if shape.rounds_norms_last else 0
    return tokens * (FLOAT * (norm.size + norm.groups) + normalised * norm.size) + added


def expert_bytes(shape: ModelShape, *, tokens: int, half: bool, gathered: bool = False) -> int:
    """Of a layer with experts of inner size m, of which each token goes through several: of each of these pairs the
    input, gate, its activation, up, their product and the output, 2 D + 4 m, its weight, and its place in four orders,
    as indices (`grouped_mm_experts_forward` of transformers). The router saves the probabilities of all experts, and
    the experts where each of them begins. They compute in float32, unless FSDP2 gathers them in bfloat16 (`gathered`);
    the router in bfloat16, with a copy of its matrix. What a router saves that normalises weights is left out, 4 bytes
    for each pair.
    """
    pairs = tokens * max(1, shape.experts_per_token)
    size, computed = HALF if half else FLOAT, HALF if half and gathered else FLOAT
    pair = computed * (2 * shape.hidden + 4 * shape.expert_intermediate) + size + 4 * INDEX
    copied = HALF * shape.experts * shape.hidden if half and not gathered else 0
    return pairs * pair + FLOAT * shape.experts * (tokens + 1) + copied
