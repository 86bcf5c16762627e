"""Student's t distribution: tail probabilities and quantiles, so that no further package is needed for them."""

from __future__ import annotations

import math

_TINY = 1e-300
_PRECISION = 1e-15


def t_tail(t: float, df: float) -> float:
    """Two-sided tail: the chance that |T| is at least |t| with `df` degrees of freedom."""
    if df <= 0:
        raise ValueError(f"{df} degrees of freedom: give more than 0.")
    return incomplete_beta(df / 2, 0.5, df / (df + t * t))


def t_quantile(df: float, *, confidence: float = 0.95) -> float:
    """How many standard errors an interval of `confidence` reaches to each side. 2 degrees of freedom: 4.302653."""
    if not 0 < confidence < 1:
        raise ValueError(f"A confidence of {confidence} cannot be; give one between 0 and 1.")
    low, high = 0.0, 1.0
    while t_tail(high, df) > 1 - confidence:
        high *= 2
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if t_tail(middle, df) > 1 - confidence else (low, middle)
    return (low + high) / 2


def incomplete_beta(a: float, b: float, x: float) -> float:
    """The regularised incomplete beta function I_x(a, b) by its continued fraction (Abramowitz and Stegun 26.5.8)."""
    if x <= 0 or x >= 1:
        return 0.0 if x <= 0 else 1.0
    if x > (a + 1) / (a + b + 2):
        return 1 - incomplete_beta(b, a, 1 - x)  # the fraction converges fast on this side
    front = math.exp(math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x))
    return front / (a * _fraction(a, b, x))


def _fraction(a: float, b: float, x: float) -> float:
    """1 + d1/(1 + d2/(1 + …)) from the front, by Lentz's method."""
    value, upper, lower = 1.0, 1.0, 0.0
    for step in range(1, 10_000):
        half = step // 2
        if step % 2:
            term = -(a + half) * (a + b + half) * x / ((a + 2 * half) * (a + 2 * half + 1))
        else:
            term = half * (b - half) * x / ((a + 2 * half - 1) * (a + 2 * half))
        lower = 1 / ((1 + term * lower) or _TINY)
        upper = (1 + term / upper) or _TINY
        value *= upper * lower
        if abs(upper * lower - 1) < _PRECISION:
            break
    return value
