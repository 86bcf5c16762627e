"""Intervals of success rates: Wilson's for one, Newcombe's for the difference of two. Plain arithmetic."""

from __future__ import annotations

from math import sqrt
from typing import NamedTuple

Z95 = 1.959963984540054  # the 97.5% point of the normal distribution


class Interval(NamedTuple):
    low: float
    high: float

    def contains(self, value: float) -> bool:
        return self.low <= value <= self.high


def wilson(successes: int, episodes: int, z: float = Z95) -> Interval:
    """Wilson's score interval of a rate (Wilson 1927), always within 0 and 1. Example: 5 of 10 is .237 to .763."""
    if not 0 <= successes <= episodes or not episodes:
        raise ValueError(f"{successes} successes of {episodes} episodes is no rate; give 0 <= successes <= episodes.")
    rate = successes / episodes
    middle = rate + z * z / (2 * episodes)
    half = z * sqrt(rate * (1 - rate) / episodes + z * z / (4 * episodes * episodes))
    scale = 1 + z * z / episodes
    low = 0.0 if successes == 0 else (middle - half) / scale
    high = 1.0 if successes == episodes else (middle + half) / scale
    return Interval(low, high)


def newcombe(successes: int, episodes: int, other_successes: int, other_episodes: int) -> Interval:
    """95% interval of `first rate - other rate`, the two played independently.

    Source: Newcombe 1998, method 10: the two Wilson intervals combined. Runs that played the same seeds are paired;
    then this interval is wider than need be, never narrower by design.
    """
    first, other = successes / episodes, other_successes / other_episodes
    mine, its = wilson(successes, episodes), wilson(other_successes, other_episodes)
    difference = first - other
    return Interval(
        difference - sqrt((first - mine.low) ** 2 + (its.high - other) ** 2),
        difference + sqrt((mine.high - first) ** 2 + (other - its.low) ** 2),
    )
