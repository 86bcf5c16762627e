"""What autograd saves of a micro-batch, from the shape of the model."""

from __future__ import annotations

from engine.cluster.byte_units import FLOAT, HALF, count
from engine.config.learning import LOGITS_AT_ONCE
from engine.policies.model_shape import ModelShape


def activation_bytes(
    shape: ModelShape,
    *,
    tokens: int,
    sampled: int,
    half: bool = False,
    checkpointing: bool = False,
    rounded: bool = True,
    trains_head: bool = True,
) -> int:
    """What autograd saves of one micro-batch for the backward pass, at most, in a gated decoder such as Qwen2 or Llama.

    With hidden size D, inner size I, and query and key sizes q and k over all heads, it saves for each token and layer

    - of both norms the input and the normalised input: 4 D float32,
    - the inputs of the linear layers: in float32 one D for queries, keys and values and one for gate and up; in
      bfloat16 `autocast` makes a copy for each of the five,
    - queries and the attention's output, keys and values: 2 q + 2 k,
    - gate, its activation, up and their product: 4 I,
    - the attention's and both norms' scales, (heads + 2) float32,

    which for float32 is what PyTorch 2.13 saves, to the byte. Attention saves no scores (FlashAttention,
    arXiv 2205.14135). Recomputing activations leaves D float32 of each token and layer, and all of one layer (Chen et
    al., arXiv 1604.06174). In bfloat16 autograd also saves a `rounded` copy of each float32 matrix, half its size:
    with recomputed activations of one layer at a time, and of none that FSDP2 gathers in bfloat16. For the head see
    `head_bytes`.
    """
    size = HALF if half else FLOAT
    queries, keys = shape.heads * shape.head_size, shape.kv_heads * shape.head_size
    inputs = (5 if half else 2) * shape.hidden
    layer = tokens * (
        FLOAT * (4 * shape.hidden + shape.heads + 2) + size * (inputs + 2 * queries + 2 * keys + 4 * shape.intermediate)
    )
    last = tokens * FLOAT * 3 * shape.hidden + sampled * FLOAT * shape.hidden
    head = head_bytes(shape, sampled=sampled, trained=trains_head)
    copies = HALF * count(shape.matrices.values()) if half and rounded else 0
    if checkpointing:
        return shape.layers * tokens * FLOAT * shape.hidden + last + max(head, layer + copies // shape.layers)
    return shape.layers * layer + last + head + copies


def head_bytes(shape: ModelShape, *, sampled: int, trained: bool = True) -> int:
    """The head's logits and what the backward pass computes of them, at most.

    Logits and probabilities of all V tokens of the vocabulary for each sampled token: 2 V float32, and V more with
    soft-capped logits. They are held for as many tokens as have `LOGITS_AT_ONCE` logits
    (`engine.policies.linear_scores`); where the head is `trained`, its gradient is computed before it is added to that
    of earlier micro-batches.
    """
    most = max(1, LOGITS_AT_ONCE // shape.vocabulary)
    tensors = 3 if shape.caps_logits else 2
    summand = shape.hidden * shape.vocabulary if trained else 0
    return FLOAT * (tensors * min(sampled, most) * shape.vocabulary + summand)
