"""The weights and gradients that FSDP2 gathers on each of several learners, beside their shards."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

from engine.cluster.byte_units import FLOAT, HALF, count
from engine.policies.layer_shapes import layer_weights
from engine.policies.model_shape import LAYER, ModelShape, Sizes


def gathered_bytes(shape: ModelShape, added: Mapping[str, Sizes], *, activations: int, half: bool) -> int:
    """At most, beside `activations`. The matrices of an adapter that are `added` train alone; without it all weights.

    Layers are gathered in the precision that they compute in (`half`: bfloat16), embedding and head in float32, and
    all gradients are reduced in float32 (`engine.training.sharding`). By `FSDPParamGroup` of PyTorch 2.13, there are

    - the embedding, in the passes through all layers,
    - in the forward pass a layer, what it was copied out of, and what the layer before it was copied out of; in the
      backward pass a layer, its gradients, what the layer before it will be copied out of, and the gradients of the
      layer after it, in float32,
    - before the layers, while no activations are held, the embedding and what it was copied out of; after them the
      embedding and its gradient, and in float32 those of the head and the first layer,
    - with neither, the head: beside its gradient, which `head_bytes` counts, or what it was copied out of.
    """
    kind = HALF if half else FLOAT
    adapters: dict[int, int] = {}
    for name, sizes in added.items():
        if match := LAYER.search(name):
            adapters[int(match[3])] = adapters.get(int(match[3]), 0) + prod(sizes)
    numbers = [count(weights.values()) for weights in layer_weights(shape)]
    layers = [own + adapters.get(index, 0) for index, own in enumerate(numbers)]
    trained = [adapters.get(index, 0) for index in range(len(layers))] if added else layers

    forward = 3 * kind * max(layers, default=0)
    backward = max((kind * (2 * of + own) + FLOAT * own for of, own in zip(layers, trained, strict=True)), default=0)
    embedding = 0 if shape.tied else FLOAT * count(shape.embedding.values())
    head = FLOAT * count(shape.head.values())
    before = 2 * embedding + 2 * kind * max(layers, default=0)
    after = 0 if added else 2 * embedding + head + FLOAT * max(layers, default=0)
    return max(
        head * (2 if added else 1),
        embedding + max(embedding, forward, backward),
        max(before, after) - activations,
    )
