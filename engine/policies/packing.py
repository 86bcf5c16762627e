"""Sequences of different length one behind the other, with attention that keeps them apart.

All that a model does token by token runs on real tokens alone. Attention, and nothing else, lays them out in rows
again, each with its own beginning, so that the fused causal kernels do the work and no mask is built.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from engine.errors import ModelError
from engine.policies.loading import run_body

NAME = "starboard"
WASTE = 1.25  # rows of one group in attention are padded to at most this many times their own length


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """Where the sequences of a pack of N tokens are. Each group holds sequences of similar length."""

    positions: Tensor  # (N,) from 0 in each sequence
    groups: tuple[Tensor, ...]  # (S, L) each: the place in the pack of a sequence's tokens, -1 on padding


def layout(lengths: Tensor, positions: Tensor) -> Layout:
    """Of sequences of `lengths` (S,) that lie in this order; `positions` (N,) on the device of the model."""
    begins = lengths.cumsum(0) - lengths
    order = torch.argsort(lengths, descending=True, stable=True).tolist()
    groups: list[list[int]] = []
    for row in order:
        if not groups or int(lengths[groups[-1][0]]) > WASTE * int(lengths[row]):
            groups.append([])
        groups[-1].append(row)
    places = []
    for rows in groups:
        columns = torch.arange(int(lengths[rows[0]]))
        place = begins[rows][:, None] + columns
        places.append(torch.where(columns < lengths[rows][:, None], place, -1).to(positions.device))
    return Layout(positions=positions, groups=tuple(places))


def attention(
    module: Any,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Tensor | None,
    *,
    pack: Layout | None = None,
    **rest: Any,
) -> tuple[Tensor, None]:
    """transformers' attention by PyTorch's kernels, and where there is a `pack` the same for each of its sequences.

    `query` is (B, heads, N, size), B = 1 with a pack; the answer is (B, N, heads, size).
    """
    from transformers.integrations.sdpa_attention import sdpa_attention_forward

    if pack is None:
        plain: tuple[Tensor, None] = sdpa_attention_forward(module, query, key, value, mask, **rest)
        return plain
    longest = max(group.shape[1] for group in pack.groups)
    window = rest.pop("sliding_window", None)
    if window is not None and longest > window:
        raise ModelError(
            f"Packed sequences of {longest} tokens pass the model's sliding window of {window}.",
            remedy="Set optimizer.packing to false.",
        )
    rest["is_causal"] = True
    found = query.new_zeros(query.shape[2], query.shape[1], value.shape[3])  # (N, heads, size)
    for places in pack.groups:
        rows = (_rows(part, places) for part in (query, key, value))
        answer, _ = sdpa_attention_forward(module, *rows, None, **rest)  # (S, L, heads, size)
        real = places >= 0
        found = found.index_put((places[real],), answer[real].to(found.dtype))
    return found[None], None


def _rows(part: Tensor, places: Tensor) -> Tensor:
    """`(1, heads, N, size)` as `(S, heads, L, size)`. Padding is on the right, where causal attention never looks."""
    return part[0][:, places.clamp(min=0)].transpose(0, 1)


def allow_packing(model: Any) -> None:
    """Has the model read packs too. Everything else it reads as before. `ModelError` if it cannot be done."""
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
    # a mask of four dimensions is handed on as it is: none is built, and none is looked at
    unused = torch.zeros((1, 1, 1, 1), dtype=torch.bool, device=ids.device)
    output = run_body(
        body, input_ids=ids[None], position_ids=pack.positions[None], attention_mask=unused, use_cache=False, pack=pack
    )
    hidden: Tensor = output.last_hidden_state[0]
    return hidden
