"""Packed sequences: sequences of different lengths concatenated, with attention within each of them.

Everything that works token by token runs on real tokens only. So does attention where PyTorch has a kernel for that;
elsewhere attention alone arranges them in padded rows again, so that the fused causal kernels can be used and no mask
is built.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from engine.config.learning import MAX_PADDING
from engine.errors import ModelError
from engine.policies.attention import use_own_attention
from engine.policies.loading import run_body


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """Where the sequences of a pack of N tokens are. Each group holds sequences of similar length."""

    positions: Tensor  # (N,) from 0 in each sequence
    groups: tuple[Tensor, ...]  # (S, L) each: indices of a sequence's tokens in the pack, -1 on padding
    bounds: Tensor  # (S + 1,) int32: where each sequence begins, and the end of the last
    longest: int  # tokens


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
    ends = lengths.cumsum(0, dtype=torch.int32)
    bounds = torch.cat([ends.new_zeros(1), ends]).to(positions.device)
    return Layout(positions=positions, groups=tuple(indices), bounds=bounds, longest=int(lengths.max()))


def allow_packing(model: Any) -> None:
    """Enables the model to read packs, in addition to padded batches. `ModelError` if it does not support that."""
    try:
        use_own_attention(model)
    except (ValueError, ImportError) as error:
        raise ModelError(
            f"{type(model).__name__} cannot be trained on packs: {error}", remedy="Set optimizer.packing to false."
        ) from error
    model.base_model.reads_packs = True


def can_pack(body: Any) -> bool:
    return getattr(body, "reads_packs", False)


def packed_hidden(body: Any, ids: Tensor, pack: Layout) -> Tensor:
    """Final hidden states (N, D) of a pack of N tokens."""
    # a four-dimensional mask is passed through: none is built, and none is used
    unused = torch.zeros((1, 1, 1, 1), dtype=torch.bool, device=ids.device)
    output = run_body(
        body, input_ids=ids[None], position_ids=pack.positions[None], attention_mask=unused, use_cache=False, pack=pack
    )
    hidden: Tensor = output.last_hidden_state[0]
    return hidden
