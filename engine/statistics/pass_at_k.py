"""pass@k and pass^k of a prompt, of many at once, and their means over a suite of prompts."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import fmean

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]


def pass_at_k(samples: int, successes: int, k: int) -> float | None:
    """Unbiased estimate of the probability that at least one of `k` samples succeeds: 1 - C(n-c, k) / C(n, k).

    Source: Chen et al. 2021 (arXiv 2107.03374), as a product, so that nothing overflows. None where fewer than `k`
    samples were drawn. 3 successes in 10: pass@5 is 0.9167, where 1 - (1 - 0.3)^5 = 0.832 would be biased.
    """
    _check(samples, successes, k)
    if samples < k:
        return None
    if samples - successes < k:
        return 1.0
    return 1 - math.prod(1 - k / drawn for drawn in range(samples - successes + 1, samples + 1))


def pass_all_k(samples: int, successes: int, k: int) -> float | None:
    """Unbiased estimate of the probability that all of `k` samples succeed, pass^k: C(c, k) / C(n, k).

    Source: Yao et al. 2024 (tau-bench, arXiv 2406.12045). None where fewer than `k` samples were drawn.
    """
    _check(samples, successes, k)
    if samples < k:
        return None
    return math.prod((successes - drawn) / (samples - drawn) for drawn in range(k)) if successes >= k else 0.0


def pass_at_k_many(samples: ArrayLike, successes: ArrayLike, k: int) -> Floats:
    """`pass_at_k` of arrays that broadcast, such as the problems of a suite; NaN where fewer than `k` were drawn."""
    n, c = np.broadcast_arrays(*_counts(samples, successes, k))
    return np.asarray(1 - _all_of(n, n - c, k))


def pass_all_k_many(samples: ArrayLike, successes: ArrayLike, k: int) -> Floats:
    """`pass_all_k` of arrays that broadcast; NaN where fewer than `k` were drawn."""
    n, c = np.broadcast_arrays(*_counts(samples, successes, k))
    return _all_of(n, c, k)


def suite_pass_at_k(prompts: Sequence[tuple[int, int]], k: int) -> float | None:
    """Mean of pass@k over `(samples, successes)` of each prompt; None unless every prompt has `k` samples."""
    return _mean([pass_at_k(samples, successes, k) for samples, successes in prompts])


def suite_pass_all_k(prompts: Sequence[tuple[int, int]], k: int) -> float | None:
    """Mean of pass^k over `(samples, successes)` of each prompt; None unless every prompt has `k` samples."""
    return _mean([pass_all_k(samples, successes, k) for samples, successes in prompts])


def shown_k(samples: int) -> list[int]:
    """1, 2, 4, … and `samples` itself. 6: 1, 2, 4, 6."""
    powers = [2**power for power in range(samples.bit_length()) if 2**power < samples]
    return [*powers, samples]


def _mean(values: list[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return fmean(known) if known and len(known) == len(values) else None


def _all_of(n: Floats, c: Floats, k: int) -> Floats:
    """C(c, k) / C(n, k), the share of subsets of `k` that lie among the `c` of `n`, as a product of `k` factors."""
    found = np.ones_like(n)
    for drawn in range(k):
        found *= np.maximum(c - drawn, 0) / np.maximum(n - drawn, 1)
    return np.where(n >= k, found, np.nan)


def _counts(samples: ArrayLike, successes: ArrayLike, k: int) -> tuple[Floats, Floats]:
    n, c = np.asarray(samples, dtype=np.float64), np.asarray(successes, dtype=np.float64)
    impossible = ~((c >= 0) & (c <= n))
    if impossible.any():
        worst = [int(np.broadcast_to(counts, impossible.shape)[impossible][0]) for counts in (n, c)]
        _check(worst[0], worst[1], k)
    _check(0, 0, k)
    return n, c


def _check(samples: int, successes: int, k: int) -> None:
    if not 0 <= successes <= samples:
        raise ValueError(f"{successes} successes in {samples} samples are impossible; give 0 <= successes <= samples.")
    if k < 1:
        raise ValueError(f"pass@{k} is not defined; give a k of 1 or more.")
