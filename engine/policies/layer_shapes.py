"""What each layer of a decoder consists of, by the names and sizes of its weights: norms, linear layers, experts."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from math import prod

from engine.policies.model_shape import LAYER, ModelShape, Sizes

ATTENTION = re.compile(r"attn|attention")
OF_QUERIES = re.compile(r"[._](q|query)_(layer)?norm\.")
OF_KEYS = re.compile(r"[._](k|key)_(layer)?norm\.")


@dataclass(frozen=True, slots=True, kw_only=True)
class NormShape:
    """`size` numbers of each token are normalised, in `groups` that have a scale of their own."""

    size: int
    groups: int = 1
    centres: bool = False  # a LayerNorm (arXiv 1607.06450), which subtracts the mean
    of_heads: bool = False  # of queries or keys


@dataclass(frozen=True, slots=True, kw_only=True)
class LayerShape:
    """One layer. `readers` is the number of linear layers that read its hidden states once they are normalised, and
    `inner` the width of the feed-forward that all tokens go through: beside experts that of shared ones, or 0."""

    norms: tuple[NormShape, ...]
    readers: int
    inner: int
    gated: bool = True
    fused: bool = False  # one linear layer computes keys, values and queries that are rotated then
    routed: bool = False  # each token goes through some of its experts


def layer_shapes(shape: ModelShape) -> list[LayerShape]:
    """In the order of the model; of a model whose weights have other names, those of a plain gated decoder."""
    linear, rotates = shape.linear, shape.rotates
    found = [_layer(shape, weights, linear, rotates=rotates) for weights in layer_weights(shape)]
    plain = LayerShape(norms=2 * (NormShape(size=shape.hidden),), readers=5, inner=shape.intermediate)
    return found if len(found) == shape.layers else [plain] * shape.layers


def layer_weights(shape: ModelShape) -> list[dict[str, Sizes]]:
    """The weights of each layer of the decoder; without the layers of other parts, such as a vision tower."""
    stacks: dict[str, dict[int, dict[str, Sizes]]] = {}
    for name, sizes in shape.weights.items():
        if match := LAYER.search(name):
            stacks.setdefault(name[: match.start()], {}).setdefault(int(match[3]), {})[name] = sizes
    fitting = [stack for stack in stacks.values() if len(stack) == shape.layers]
    stack = (fitting or [*stacks.values(), {}])[0]
    return [stack[index] for index in sorted(stack)]


def _layer(
    shape: ModelShape, weights: Mapping[str, Sizes], linear: Mapping[str, Sizes], *, rotates: bool
) -> LayerShape:
    own = [name for name in weights if name in linear]
    feed_forward = [name for name in own if not ATTENTION.search(name)]
    attention = len(own) - len(feed_forward)
    numbers = sum(prod(linear[name]) for name in feed_forward)
    routed = any(".experts." in name for name in weights)
    gated = routed or 2 * numbers > 5 * shape.hidden * shape.intermediate  # three matrices rather than two
    return LayerShape(
        norms=tuple(_norm(shape, name, weights) for name, sizes in weights.items() if _is_norm(name, sizes)),
        readers=max(0, attention - 1) + max(0, len(feed_forward) - 1),  # one of each writes the result
        inner=numbers // (shape.hidden * (3 if gated else 2)),
        gated=gated,
        fused=attention == 2 and rotates,
        routed=routed,
    )


def _is_norm(name: str, sizes: Sizes) -> bool:
    """Vectors that are no biases."""
    return len(sizes) == 1 and name.endswith(".weight")


def _norm(shape: ModelShape, name: str, weights: Mapping[str, Sizes]) -> NormShape:
    """A norm with a weight for each number of a head is applied to all heads of queries or keys."""
    (size,) = weights[name]
    centres = f"{name.removesuffix('weight')}bias" in weights
    queries, keys = OF_QUERIES.search(name), OF_KEYS.search(name)
    heads = shape.heads if queries else shape.kv_heads
    if not queries and not keys:
        return NormShape(size=size, centres=centres)
    groups = heads if size == shape.head_size else 1
    return NormShape(size=groups * size, groups=groups, centres=centres, of_heads=True)
