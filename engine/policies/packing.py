"""Packed sequences: sequences of different lengths concatenated, with attention within each of them.

Everything that works token by token runs on real tokens only. Attention alone arranges them in padded rows again, so
that the fused causal kernels can be used and no mask is built.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from engine.errors import ModelError
from engine.policies.loading import run_body

NAME = "starboard"
MAX_PADDING = 1.25  # rows of one attention group are padded to at most this many times their length


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """Where the sequences of a pack of N tokens are. Each group holds sequences of similar length."""

    positions: Tensor  # (N,) from 0 in each sequence
    groups: tuple[Tensor, ...]  # (S, L) each: indices of a sequence's tokens in the pack, -1 on padding


def layout(lengths: Tensor, positions: Tensor) -> Layout:
    """For sequences of `lengths` (S,) in this order; `positions` (N,) on the device of the model."""
    starts = lengths.cumsum(0) - lengths
    order = torch.argsort(lengths, descending=True, stable=True).tolist()
    groups: list[list[int]] = []
    for row in order:
        if not groups or int(lengths[groups[-1][0]]) > MAX_PADDING * int(lengths[row]):
            groups.append([])
        groups[-1].append(row)
    indices = []
    for rows in groups:
        columns = torch.arange(int(lengths[rows[0]]))
        index = starts[rows][:, None] + columns
        indices.append(torch.where(columns < lengths[rows][:, None], index, -1).to(positions.device))
    return Layout(positions=positions, groups=tuple(indices))


def attention(
    module: Any,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Tensor | None,
    *,
    pack: Layout | None = None,
    **options: Any,
) -> tuple[Tensor, None]:
    """transformers' SDPA attention; with a `pack`, separately for each of its sequences.

    `query` is (B, heads, N, size), with B = 1 for a pack; the result is (B, N, heads, size).
    """
    from transformers.integrations.sdpa_attention import sdpa_attention_forward

    if pack is None:
        plain: tuple[Tensor, None] = sdpa_attention_forward(module, query, key, value, mask, **options)
        return plain
    longest = max(group.shape[1] for group in pack.groups)
    window = options.pop("sliding_window", None)
    if window is not None and longest > window:
        raise ModelError(
            f"Packed sequences of {longest} tokens exceed the model's sliding window of {window}.",
            remedy="Set optimizer.packing to false.",
        )
    options["is_causal"] = True
    found = query.new_zeros(query.shape[2], query.shape[1], value.shape[3])  # (N, heads, size)
    for indices in pack.groups:
        rows = (_rows(part, indices) for part in (query, key, value))
        output, _ = sdpa_attention_forward(module, *rows, None, **options)  # (S, L, heads, size)
        real = indices >= 0
        found = found.index_put((indices[real],), output[real].to(found.dtype))
    return found[None], None


def _rows(part: Tensor, indices: Tensor) -> Tensor:
    """`(1, heads, N, size)` as `(S, heads, L, size)`. Padding is on the right, which causal attention never reads."""
    return part[0][:, indices.clamp(min=0)].transpose(0, 1)


def allow_packing(model: Any) -> None:
    """Enables the model to read packs, in addition to padded batches. `ModelError` if it does not support that."""
    from transformers import AttentionInterface, AttentionMaskInterface
    from transformers.masking_utils import sdpa_mask

    AttentionInterface.register(NAME, attention)
    AttentionMaskInterface.register(NAME, sdpa_mask)
    try:
        model.set_attn_implementation(NAME)
    except (ValueError, ImportError) as error:
        raise ModelError(
            f"{type(model).__name__} cannot be trained on packs: {error}", remedy="Set optimizer.packing to false."
        ) from error


def can_pack(body: Any) -> bool:
    return bool(getattr(body.config, "_attn_implementation", None) == NAME)


def packed_hidden(body: Any, ids: Tensor, pack: Layout) -> Tensor:
    """Final hidden states (N, D) of a pack of N tokens."""
    # a four-dimensional mask is passed through: none is built, and none is used
    unused = torch.zeros((1, 1, 1, 1), dtype=torch.bool, device=ids.device)
    output = run_body(
        body, input_ids=ids[None], position_ids=pack.positions[None], attention_mask=unused, use_cache=False, pack=pack
    )
    hidden: Tensor = output.last_hidden_state[0]
    return hidden
