"""Our attention function for transformers' models: its SDPA attention, and what that lacks.

It reads packs, whose sequences attend within themselves, and it caps attention scores for models that were trained
with a cap (Gemma 2, arXiv 2408.00118), which SDPA leaves out without an error.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from engine.errors import ModelError
from engine.policies.attention_masks import attention_kinds
from engine.policies.varlen_attention import varlen_attention, varlen_can_attend

if TYPE_CHECKING:
    from engine.policies.packing import Layout

NAME = "starboard"


def use_own_attention(model: Any) -> None:
    """Makes `attention` the attention of all layers; `ValueError` or `ImportError` if the model does not allow it."""
    from transformers import AttentionInterface, AttentionMaskInterface
    from transformers.masking_utils import sdpa_mask

    AttentionInterface.register(NAME, attention)
    AttentionMaskInterface.register(NAME, sdpa_mask)
    model.set_attn_implementation(NAME)


def attention(
    module: Any,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    *,
    pack: Layout | None = None,
    **options: Any,
) -> tuple[Tensor, None]:
    """Attention of `query` (B, heads, Q, size) to `key` and `value` (B, KV heads, K, size); (B, Q, heads, size).

    With a `pack` B is 1, and each of its sequences attends within itself; `ModelError` if the layer has its window in
    its mask alone, which packs do without.
    """
    if pack is None:
        return _attend(module, query, key, value, attention_mask, **options)
    if "sliding_window" not in options and "sliding_attention" in attention_kinds(module.config):
        raise ModelError(
            f"Models of type {module.config.model_type} cannot be trained on packs: they would read beyond the window.",
            remedy="Set optimizer.packing to false.",
        )
    window = options.pop("sliding_window", None)
    if not options.get("softcap") and varlen_can_attend(query, key, value, window):
        return varlen_attention(query, key, value, pack, scaling=options.get("scaling"), window=window), None
    return padded_attention(module, query, key, value, pack, window, **options), None


def padded_attention(
    module: Any, query: Tensor, key: Tensor, value: Tensor, pack: Layout, window: int | None, **options: Any
) -> Tensor:
    """Attention of a pack in padded rows: (1, N, heads, size)."""
    options["is_causal"] = True
    found = query.new_zeros(query.shape[2], query.shape[1], value.shape[3])  # (N, heads, size)
    for indices in pack.groups:
        rows = [_rows(part, indices) for part in (query, key, value)]
        within = _within_window(indices.shape[1], window, indices.device)
        output, _ = _attend(module, rows[0], rows[1], rows[2], within, **options)  # (S, L, heads, size)
        real = indices >= 0
        found = found.index_put((indices[real],), output[real].to(found.dtype))
    return found[None]


def _attend(
    module: Any,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Tensor | None,
    *,
    softcap: float | None = None,
    **options: Any,
) -> tuple[Tensor, None]:
    from transformers.integrations.sdpa_attention import sdpa_attention_forward

    if softcap:
        return _capped(query, key, value, mask, softcap=softcap, scaling=options["scaling"]), None
    plain: tuple[Tensor, None] = sdpa_attention_forward(module, query, key, value, mask, **options)
    return plain


def _capped(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, *, softcap: float, scaling: float
) -> Tensor:
    """`softmax(c tanh(q k / c))`, with scores kept within ±c."""
    repeats = query.shape[1] // key.shape[1]
    key, value = key.repeat_interleave(repeats, dim=1), value.repeat_interleave(repeats, dim=1)
    scores = softcap * torch.tanh(query @ key.transpose(2, 3) * (scaling / softcap))  # (B, heads, Q, K)
    if mask is None:
        mask = torch.ones(scores.shape[-2:], dtype=torch.bool, device=scores.device).tril()
    scores = scores.masked_fill(~mask, torch.finfo(scores.dtype).min)
    weights = torch.softmax(scores, dim=-1, dtype=torch.float32).to(query.dtype)
    return (weights @ value).transpose(1, 2).contiguous()


def _within_window(longest: int, window: int | None, device: torch.device) -> Tensor | None:
    """The mask (1, 1, L, L) of a sliding window; None where causal attention alone is the same."""
    if window is None or longest <= window:
        return None
    position = torch.arange(longest, device=device)
    behind = position[:, None] - position
    return ((behind >= 0) & (behind < window))[None, None]


def _rows(part: Tensor, indices: Tensor) -> Tensor:
    """`(1, heads, N, size)` as `(S, heads, L, size)`. Padding is on the right, which causal attention never reads."""
    return part[0][:, indices.clamp(min=0)].transpose(0, 1)
