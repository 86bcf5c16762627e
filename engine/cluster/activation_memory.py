"""What autograd saves of a micro-batch, from the shape of the model."""

from __future__ import annotations

from engine.cluster.byte_units import FLOAT, HALF, count
from engine.cluster.layer_memory import gradient_bytes, layer_bytes
from engine.config.learning import LOGITS_AT_ONCE
from engine.policies.layer_shapes import layer_shapes
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
    layers: int | None = None,
    context: int = 0,
    gathered: bool = False,
    packing: bool = False,
) -> int:
    """What autograd saves of one micro-batch for the backward pass, at most.

    That is `layer_bytes` of the last `layers` layers, which the backward pass goes through; without it, of all.
    Recomputing activations leaves D float32 of each token and layer, and all of one layer (Chen et al., arXiv
    1604.06174). In bfloat16 autograd also saves a `rounded` copy of each linear layer's float32 matrix, half its size:
    with recomputed activations of one layer at a time, and of none that FSDP2 gathers in bfloat16 (`gathered`). For the
    head see `head_bytes`, and `scores_bytes` for layers with windows or capped scores, where sequences have up to
    `context` tokens.
    """
    through, context = shape.layers if layers is None else layers, min(context, tokens)
    size, of_layers, gradients = HALF if half else FLOAT, [], [0]
    for layer in layer_shapes(shape)[shape.layers - through :]:
        saved = layer_bytes(shape, layer, tokens=tokens, half=half, gathered=gathered, packing=packing)
        of_layers.append(saved)
        gradients.append(gradient_bytes(shape, layer, tokens=tokens, context=context, half=half, gathered=gathered))
    last = tokens * FLOAT * 3 * shape.hidden + sampled * FLOAT * shape.hidden
    head = head_bytes(shape, sampled=sampled, trained=trains_head)
    copies = HALF * count(shape.linear.values()) if half and rounded else 0
    scores = scores_bytes(shape, tokens=tokens, context=context, size=size)
    if checkpointing:
        again = max(of_layers, default=0) + copies // shape.layers + scores + max(gradients)
        return through * tokens * FLOAT * shape.hidden + last + max(head, again)
    scored = min(through, shape.layers if shape.caps_scores else shape.windowed_layers)
    return sum(of_layers) + last + max(head, *gradients) + copies + scored * scores


def scores_bytes(shape: ModelShape, *, tokens: int, context: int, size: int) -> int:
    """What the attention of a layer saves beyond that of plain causal attention, at most; `size` bytes a number.

    Capped scores (Gemma 2, arXiv 2408.00118) are computed one by one: of each head and pair of tokens the tanh, and the
    weights before and after they are rounded, 8 bytes, in place of a scale for each head and token. With them, and with
    the mask of a window that sequences are longer than, keys and values are saved once for each head of queries. A
    mask has a number of each pair, and one byte with capped scores.
    """
    repeated = 2 * tokens * (shape.heads - shape.kv_heads) * shape.head_size * size
    if shape.caps_scores:
        return FLOAT * tokens * shape.heads * (2 * context - 1) + repeated + tokens * context
    if shape.windowed_layers and context > shape.window:
        return repeated + size * tokens * context
    return 0


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
