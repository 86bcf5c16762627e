"""pass@k and pass^k of a prompt, and their means over a suite of prompts."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import fmean


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


def suite_pass_at_k(prompts: Sequence[tuple[int, int]], k: int) -> float | None:
    """Mean of pass@k over `(samples, successes)` of each prompt; None unless every prompt has `k` samples."""
    return _mean([pass_at_k(samples, successes, k) for samples, successes in prompts])


def suite_pass_all_k(prompts: Sequence[tuple[int, int]], k: int) -> float | None:
    """Mean of pass^k over `(samples, successes)` of each prompt; None unless every prompt has `k` samples."""
    return _mean([pass_all_k(samples, successes, k) for samples, successes in prompts])


def _mean(values: list[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return fmean(known) if known and len(known) == len(values) else None


def _check(samples: int, successes: int, k: int) -> None:
    if not 0 <= successes <= samples:
        raise ValueError(f"{successes} successes in {samples} samples are impossible; give 0 <= successes <= samples.")
    if k < 1:
        raise ValueError(f"pass@{k} is not defined; give a k of 1 or more.")
