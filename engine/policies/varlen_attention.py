"""Attention of packs by PyTorch's FlashAttention kernel for sequences of different lengths, which pads nothing.

It exists on CUDA devices and in half precision (FlashAttention-2, arXiv 2307.08691). Which sizes of heads and which
devices it supports differs between versions, so it is tried once for each size: where it raises an error, or where
outputs or gradients differ from those of sequences one by one, packs are attended in padded rows.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, cast

import torch
from torch import Tensor
from torch.nn.attention.varlen import varlen_attn

if TYPE_CHECKING:
    from engine.policies.packing import Layout

log = logging.getLogger(__name__)

HALF = (torch.bfloat16, torch.float16)
TRIAL_LENGTHS, TRIAL_WINDOW = (70, 45), 16
MOST_RELATIVE = 0.05  # rounding to bfloat16 alone gives about 0.005


@dataclass(frozen=True, slots=True, kw_only=True)
class Heads:
    """What decides whether the kernel can be used."""

    device: torch.device
    dtype: torch.dtype
    heads: int
    kv_heads: int
    size: int
    windowed: bool


def varlen_can_attend(query: Tensor, key: Tensor, value: Tensor, window: int | None) -> bool:
    """Whether `varlen_attention` can take the place of padded rows; shapes as there."""
    dtype = compute_dtype(query)
    if not query.is_cuda or dtype not in HALF or value.shape[3] != query.shape[3]:
        return False
    return trial_agrees(
        Heads(
            device=query.device,
            dtype=dtype,
            heads=query.shape[1],
            kv_heads=key.shape[1],
            size=query.shape[3],
            windowed=window is not None,
        )
    )


def varlen_attention(
    query: Tensor, key: Tensor, value: Tensor, pack: Layout, *, scaling: float | None = None, window: int | None = None
) -> Tensor:
    """Causal attention within each sequence of a pack: `query` (1, heads, N, size), `key` and `value` (1, KV heads, N,
    size); (1, N, heads, size). With a `window`, each token attends to that many, itself included."""
    dtype = compute_dtype(query)
    tokens = [part[0].transpose(0, 1).to(dtype) for part in (query, key, value)]  # (N, heads, size) each
    output = varlen_attn(
        tokens[0],
        tokens[1],
        tokens[2],
        pack.bounds,
        pack.bounds,
        pack.longest,
        pack.longest,
        scale=scaling,
        window_size=(-1 if window is None else window - 1, 0),
        enable_gqa=True,
    )
    return cast(Tensor, output)[None].to(query.dtype)  # nothing else was asked for


def compute_dtype(query: Tensor) -> torch.dtype:
    """What SDPA computes in: autocast does not know this kernel."""
    kind = query.device.type
    return torch.get_autocast_dtype(kind) if torch.is_autocast_enabled(kind) else query.dtype


@cache
def trial_agrees(heads: Heads) -> bool:
    try:
        difference = trial_difference(heads)
    except RuntimeError as error:  # NotImplementedError included
        log.warning("Packs are padded in attention: PyTorch's kernel without padding raised %s", error)
        return False
    if not difference < MOST_RELATIVE:
        log.warning("Packs are padded in attention: PyTorch's kernel without padding differs by %.2g.", difference)
    return difference < MOST_RELATIVE


@torch.enable_grad()
def trial_difference(heads: Heads) -> float:
    """Largest relative difference of outputs and gradients from those of each sequence alone, with random numbers."""
    from engine.policies.packing import layout

    draw = torch.Generator().manual_seed(0)
    lengths, window = torch.tensor(TRIAL_LENGTHS), TRIAL_WINDOW if heads.windowed else None
    shapes = [(1, count, sum(TRIAL_LENGTHS), heads.size) for count in (heads.heads, heads.kv_heads, heads.kv_heads)]
    leaves = [torch.randn(shape, generator=draw).to(heads.device, heads.dtype).requires_grad_() for shape in shapes]
    positions = torch.cat([torch.arange(length) for length in TRIAL_LENGTHS]).to(heads.device)
    with torch.autocast(heads.device.type, enabled=False):
        pairs = []
        for output in (
            varlen_attention(leaves[0], leaves[1], leaves[2], layout(lengths, positions), window=window),
            _one_by_one(leaves, window),
        ):
            weights = torch.linspace(-1, 1, output.numel(), device=output.device).view_as(output)
            pairs.append([output, *torch.autograd.grad((output * weights).sum(), leaves)])
    return max(_relative(found, expected) for found, expected in zip(*pairs, strict=True))


def _one_by_one(leaves: list[Tensor], window: int | None) -> Tensor:
    """The same attention with a mask for each sequence, in float32: (1, N, heads, size)."""
    outputs = []
    repeats = leaves[0].shape[1] // leaves[1].shape[1]
    for query, key, value in zip(*(leaf.float().split(TRIAL_LENGTHS, dim=2) for leaf in leaves), strict=True):
        position = torch.arange(query.shape[2], device=query.device)
        behind = position[:, None] - position
        mask = (behind >= 0) & (behind < (window or len(position)))
        more = [part.repeat_interleave(repeats, dim=1) for part in (key, value)]
        scores = (query @ more[0].transpose(2, 3) * query.shape[3] ** -0.5).masked_fill(~mask, float("-inf"))
        outputs.append(torch.softmax(scores, dim=-1) @ more[1])
    return torch.cat(outputs, dim=2).transpose(1, 2)


def _relative(found: Tensor, expected: Tensor) -> float:
    return float((found - expected).detach().float().norm() / expected.detach().float().norm())
