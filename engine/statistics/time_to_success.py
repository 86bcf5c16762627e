"""How long training took to a success rate: the first evaluation at which it was reached."""

from __future__ import annotations

from collections.abc import Iterable


def first_reached(curve: Iterable[tuple[float, float]], *, rate: float = 0.5) -> float | None:
    """The earliest position (updates, seconds) of `curve` at which success is at least `rate`; None if it never is.

    Nothing is interpolated, so it is late by at most the distance of two evaluations. A curve that does not reach it is
    censored: None says that more training might have.
    """
    return min((position for position, success in curve if success >= rate), default=None)
