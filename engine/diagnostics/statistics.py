"""Interval estimates. Torch-free."""

from __future__ import annotations

import math

Z95 = 1.959963984540054


def wilson_interval(successes: float, episodes: int, z: float = Z95) -> tuple[float, float]:
    """Wilson's score interval for a share (Wilson 1927), 95% by default. 5 of 10 gives 0.2366 to 0.7634.

    It stays inside 0 to 1 and has a width even at 0 or all successes; `(0, 1)` for no episodes, when nothing is known.
    """
    if not 0 <= successes <= episodes:
        raise ValueError(f"{successes} successes of {episodes} episodes cannot be; give 0 to {episodes}.")
    if episodes == 0:
        return 0.0, 1.0
    share = successes / episodes
    centre = share + z * z / (2 * episodes)
    reach = z * math.sqrt(share * (1 - share) / episodes + z * z / (4 * episodes * episodes))
    scale = 1 + z * z / episodes
    return max(0.0, (centre - reach) / scale), min(1.0, (centre + reach) / scale)
