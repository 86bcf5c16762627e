"""Which checkpoints of a run are kept: the newest, the best, and the last one before each sign of trouble."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from statistics import fmean

from engine.events import HeldOutResult


def kept(steps: Iterable[int], *, newest: int, before: Iterable[int], held_out: Mapping[int, float]) -> set[int]:
    """Of the checkpoints at `steps` those that must not be removed: the `newest` ones, the newest before each step of
    `before`, and of those with an evaluation in `held_out` (success by step) the best, the newest of equals."""
    there = sorted(steps)
    found = set(there[-newest:])
    for sign in before:
        found.update([step for step in there if step < sign][-1:])
    best = best_of(there, held_out)
    return found if best is None else found | {best}


def best_of(steps: Iterable[int], held_out: Mapping[int, float]) -> int | None:
    """Of `steps` the one with the highest success in `held_out`, the newest of equals; None if none was evaluated."""
    evaluated = [step for step in steps if step in held_out]
    return max(evaluated, key=lambda step: (held_out[step], step), default=None)


def success_of(evaluations: Iterable[HeldOutResult]) -> float:
    """Mean held-out success over the environments of one evaluation."""
    return fmean(evaluation.success for evaluation in evaluations)
