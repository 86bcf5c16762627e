"""Ragged batches as a rollout makes them: turns of sampled tokens with environment tokens between, padding after."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor

from engine.algorithms.variants import ALGORITHMS


def ragged_mask(generator: torch.Generator, *, rows: int, width: int, empty_row: bool = True) -> Tensor:
    """(B, T) of 0 and 1: each row begins with a prompt, alternates, and ends in padding; the last may be all 0."""
    mask = torch.zeros(rows, width)
    for row in range(rows - empty_row):
        position, sampled = int(torch.randint(0, 3, (), generator=generator)), True
        end = int(torch.randint(width // 2, width + 1, (), generator=generator))
        while position < end:
            length = int(torch.randint(1, 4, (), generator=generator))
            if sampled:
                mask[row, position : min(position + length, end)] = 1.0
            position, sampled = position + length, not sampled
    return mask


def turn_ends_of(mask: Tensor) -> Tensor:
    """1 on each sampled token that no sampled token follows directly."""
    after = torch.cat([mask[:, 1:], torch.zeros(len(mask), 1)], dim=1)
    return mask * (1 - after)


def normal(generator: torch.Generator, *shape: int) -> Tensor:
    return torch.randn(*shape, generator=generator)


def seeded(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def every_credit() -> list[Any]:
    """Parameters (algorithm, fields): each algorithm with each way to assign credit, if it has several."""
    ways: dict[str, dict[str, Any]] = {way: {"credit": {"type": way}} for way in ("trajectory", "turn")}
    return [
        pytest.param(name, fields, id=f"{name}-{way}")
        for name, algorithm in sorted(ALGORITHMS.items())
        for way, fields in (ways if "credit" in algorithm.model_fields else {"trajectory": {}}).items()
    ]
