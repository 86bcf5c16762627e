"""Many comparisons at once: p-values adjusted, in the order given."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm 1979: the chance of a single false claim stays below the level, whatever depends on what."""
    order = sorted(range(len(p_values)), key=lambda index: p_values[index])
    raised = (min(1.0, (len(order) - rank) * p_values[index]) for rank, index in enumerate(order))
    return _in_place(order, list(accumulate(raised, max)))


def benjamini_hochberg(p_values: Sequence[float]) -> list[float]:
    """Benjamini and Hochberg 1995: the share of false claims stays below the level; for exploration only."""
    order = sorted(range(len(p_values)), key=lambda index: p_values[index], reverse=True)
    size = len(order)
    raised = (min(1.0, size * p_values[index] / (size - rank)) for rank, index in enumerate(order))
    return _in_place(order, list(accumulate(raised, min)))


def _in_place(order: list[int], adjusted: list[float]) -> list[float]:
    placed = dict(zip(order, adjusted, strict=True))
    return [placed[index] for index in range(len(order))]
