"""The choice of the groups that train, from their scores alone. No torch: pages ask it what a filter would have kept.

How groups come by their scores, and what the choices mean, is in `engine.algorithms.filtering`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

Strategy = Literal["none", "top_p", "top_k", "top_k_absolute", "min_p"]
MassMode = Literal["variance", "std", "softmax"]
ZERO = 1e-10
ROUNDING = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidates:
    """Groups that may be kept: `scores` in order of preference, with the index of each."""

    indices: list[int]
    scores: list[float]
    total: int  # groups of the step, left out ones counted
    value: float
    mode: MassMode
    largest: bool
    epsilon: float


def choose_groups(
    scores: Sequence[float],
    *,
    strategy: Strategy,
    value: float,
    mode: MassMode = "variance",
    largest: bool = True,
    include_zero: bool = False,
    epsilon: float = 0.01,
) -> list[int]:
    """Indices of the kept groups among `scores`, ascending; empty when there is no signal.

    none: all. top_p: the fewest groups that hold the share `value` of the mass, less `epsilon`. Mass is the squared
    score (variance, the default), the score (std, RAGEN's) or its softmax (RAGEN's main table; it depends on the
    scale of rewards, keeps nearly all when scores are close, and takes no epsilon). top_k: the share `value` of all
    groups, at least one; top_k_absolute: `value` groups. min_p: scores of at least `value` times the largest. With
    `largest` off the order is turned round. Groups with score 0 are left out first unless `include_zero`. Ties go to
    the lower index.

    `choose_groups([4, 2, 1, 1], strategy="top_p", value=0.9)` is `[0, 1]`: of the squares 16, 4, 1, 1 the first two
    hold 20, and 0.9 of 22 is 19.8.
    """
    if strategy == "none":
        return list(range(len(scores)))
    indices = [i for i, score in enumerate(scores) if include_zero or abs(score) > ZERO]
    if not indices:
        return []
    indices.sort(key=scores.__getitem__, reverse=largest)
    candidates = Candidates(
        indices=indices,
        scores=[scores[i] for i in indices],
        total=len(scores),
        value=value,
        mode=mode,
        largest=largest,
        epsilon=epsilon,
    )
    return sorted(indices[: STRATEGIES[strategy](candidates)])


def threshold_of(scores: Sequence[float], kept: Sequence[int], *, largest: bool = True) -> float:
    """The score of the last group that was kept: the smallest (largest with `largest` off); 0 when none was.

    Every kept group scores at least this much. A dropped group may equal it where a tie was cut.
    """
    chosen = [scores[index] for index in kept]
    return (min if largest else max)(chosen, default=0.0)


# How many of the candidates, in order, each strategy keeps.


def _top_p(candidates: Candidates) -> int:
    if candidates.value >= 1:
        return len(candidates.indices)
    return MASS[candidates.mode](candidates)


def _top_k(candidates: Candidates) -> int:
    return max(1, int(candidates.value * candidates.total + ROUNDING))


def _top_k_absolute(candidates: Candidates) -> int:
    return max(1, int(candidates.value))


def _min_p(candidates: Candidates) -> int:
    best = candidates.scores[0]
    if candidates.largest:
        return sum(score >= candidates.value * best - ZERO for score in candidates.scores)
    return sum(score <= best / candidates.value + ZERO for score in candidates.scores)


STRATEGIES: dict[str, Callable[[Candidates], int]] = {
    "top_p": _top_p,
    "top_k": _top_k,
    "top_k_absolute": _top_k_absolute,
    "min_p": _min_p,
}


def _walk(masses: list[float], candidates: Candidates) -> int:
    """Groups walked until they hold `value * total - epsilon`; 0 when that is nothing, or never reached."""
    wanted = candidates.value * sum(masses) - candidates.epsilon
    held, count = 0.0, 0
    if wanted <= 0:
        return 0
    for mass in masses:
        if held >= wanted or mass <= 0:
            break
        held, count = held + mass, count + 1
    return count if held >= wanted else 0


def _variance(candidates: Candidates) -> int:
    return _walk([score**2 for score in candidates.scores], candidates)


def _std_mass(candidates: Candidates) -> int:
    return _walk(candidates.scores, candidates)


def _softmax(candidates: Candidates) -> int:
    first = candidates.scores[0]  # of the largest exponent
    masses = [math.exp(-abs(score - first)) for score in candidates.scores]
    total, held, count = math.fsum(masses), 0.0, 0
    for mass in masses:
        held += mass / total
        count += 1
        if held >= candidates.value - ROUNDING:
            break
    return count


MASS: dict[str, Callable[[Candidates], int]] = {"variance": _variance, "std": _std_mass, "softmax": _softmax}
