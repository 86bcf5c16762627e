"""PyTorch's attention without padding has no kernel for CPUs: here one in plain PyTorch, written from its
documentation, takes its place, so that what the kernel is given is compared with padded rows."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import pytest
import torch
from torch import Tensor

from engine.policies.attention import attention
from engine.policies.packing import Layout, layout
from engine.policies.varlen_attention import Heads, compute_dtype, trial_agrees, varlen_attention, varlen_can_attend
from tests.engine.models import small_model

LENGTHS = (7, 30, 12, 1, 41)
BROKEN = {"mixes sequences": False}


def sequences(*parts: Tensor, bounds: Tensor) -> Iterator[tuple[Tensor, ...]]:
    """Of each part (T, heads, size) the rows of each sequence: (heads, L, size)."""
    edges = [0, parts[0].shape[0]] if BROKEN["mixes sequences"] else bounds.tolist()
    for start, end in itertools.pairwise(edges):
        yield tuple(part[start:end].transpose(0, 1) for part in parts)


def weights_of(query: Tensor, key: Tensor, scale: float, window: list[int]) -> Tensor:
    """(heads, L, L); a `window` of (left, right) allows columns from row - left to row + right, -1 all."""
    row = torch.arange(query.shape[1])
    ahead = row - row[:, None]  # of the column
    left, right = (size if size >= 0 else len(row) for size in window)
    scores = (query @ key.transpose(1, 2) * scale).masked_fill((ahead > right) | (ahead < -left), float("-inf"))
    return scores.softmax(-1)


def grouped(part: Tensor, query: Tensor) -> Tensor:
    return part.repeat_interleave(query.shape[0] // part.shape[0], dim=0)


def forward(query: Tensor, key: Tensor, value: Tensor, bounds: Tensor, *more: Any) -> Any:
    _, longest, _, _, scale, window, enable_gqa, *_ = more
    assert bounds.dtype == torch.int32
    assert longest == int(bounds.diff().max())
    assert enable_gqa or query.shape[1] == key.shape[1]
    outputs = []
    for q, k, v in sequences(query, key, value, bounds=bounds):
        weights = weights_of(q, grouped(k, q), scale or q.shape[2] ** -0.5, window)
        outputs.append((weights @ grouped(v, q)).transpose(0, 1))
    unused = torch.empty(query.shape[1], query.shape[0]), torch.empty(2, dtype=torch.uint64)
    return torch.cat(outputs).contiguous(), *unused


def backward(grad: Tensor, query: Tensor, key: Tensor, value: Tensor, *more: Any) -> Any:
    _, _, bounds, _, _, _, _, _, scale, window = more
    found: list[list[Tensor]] = [[], [], []]
    for g, q, k, v in sequences(grad, query, key, value, bounds=bounds):
        factor = scale or q.shape[2] ** -0.5
        weights = weights_of(q, grouped(k, q), factor, window)
        of_weights = g @ grouped(v, q).transpose(1, 2)
        of_scores = weights * (of_weights - (of_weights * weights).sum(-1, keepdim=True)) * factor
        shared = [part.unflatten(0, (len(k), -1)).sum(1) for part in (of_scores.mT @ q, weights.mT @ g)]
        for rows, part in zip(found, (of_scores @ grouped(k, q), *shared), strict=True):
            rows.append(part.transpose(0, 1))
    return tuple(torch.cat(rows).contiguous() for rows in found)


@pytest.fixture
def kernel() -> Iterator[None]:
    with torch.library._scoped_library("torch_attn", "IMPL") as library:
        library.impl("_varlen_attn", forward, "CPU")
        library.impl("_varlen_attn_backward", backward, "CPU")
        yield


@pytest.fixture(autouse=True)
def no_earlier_trial() -> None:
    trial_agrees.cache_clear()


def a_pack() -> Layout:
    return layout(torch.tensor(LENGTHS), torch.cat([torch.arange(length) for length in LENGTHS]))


def parts(heads: int, kv_heads: int) -> list[Tensor]:
    draw = torch.Generator().manual_seed(1)
    shapes = [(1, count, sum(LENGTHS), 16) for count in (heads, kv_heads, kv_heads)]
    return [torch.randn(shape, generator=draw).requires_grad_() for shape in shapes]


@pytest.mark.usefixtures("kernel")
@pytest.mark.parametrize(("heads", "kv_heads"), [(4, 4), (4, 2)])
@pytest.mark.parametrize("window", [None, 1, 9])
@pytest.mark.parametrize("scaling", [0.25, 0.1])
def test_outputs_and_gradients_are_those_of_padded_rows(
    heads: int, kv_heads: int, window: int | None, scaling: float
) -> None:
    layer = small_model().base_model.layers[0].self_attn
    layer.num_key_value_groups = heads // kv_heads
    leaves = parts(heads, kv_heads)
    found = varlen_attention(leaves[0], leaves[1], leaves[2], a_pack(), scaling=scaling, window=window)
    options = {"pack": a_pack(), "scaling": scaling, "sliding_window": window}
    padded, _ = attention(layer, leaves[0], leaves[1], leaves[2], None, **options)
    torch.testing.assert_close(found, padded)
    weights = torch.randn(found.shape, generator=torch.Generator().manual_seed(2))
    gradients = [torch.autograd.grad((output * weights).sum(), leaves) for output in (found, padded)]
    torch.testing.assert_close(*gradients)


def of(**changed: Any) -> Heads:
    same: dict[str, Any] = {"heads": 4, "kv_heads": 2, "size": 16, "windowed": False, **changed}
    return Heads(device=torch.device("cpu"), dtype=torch.bfloat16, **same)


@pytest.mark.usefixtures("kernel")
@pytest.mark.parametrize("windowed", [False, True])
def test_a_kernel_that_agrees_with_each_sequence_alone_passes_its_trial(windowed: bool) -> None:
    assert trial_agrees(of(windowed=windowed))


@pytest.mark.usefixtures("kernel")
def test_a_kernel_that_mixes_sequences_is_not_used(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setitem(BROKEN, "mixes sequences", True)
    assert not trial_agrees(of())
    assert "Packs are padded in attention: PyTorch's kernel without padding differs by 0." in caplog.text


def test_a_machine_without_the_kernel_uses_padded_rows(caplog: pytest.LogCaptureFixture) -> None:
    assert not trial_agrees(of())
    assert "Packs are padded in attention: PyTorch's kernel without padding raised" in caplog.text


@pytest.mark.usefixtures("kernel")
def test_under_autocast_the_kernel_computes_in_half_precision_and_returns_the_precision_of_the_query() -> None:
    leaves = parts(4, 2)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert compute_dtype(leaves[0]) == torch.bfloat16
        rough = varlen_attention(leaves[0], leaves[1], leaves[2], a_pack())
    exact = varlen_attention(leaves[0], leaves[1], leaves[2], a_pack())
    assert rough.dtype == torch.float32
    assert 1e-4 < float((rough - exact).detach().abs().max()) < 0.1  # 8 bits of mantissa


@pytest.mark.usefixtures("kernel")
def test_on_a_cpu_packs_are_padded_whatever_a_trial_says() -> None:
    query, key, value = (part.to(torch.bfloat16) for part in parts(4, 2))
    assert not varlen_can_attend(query, key, value, None)
