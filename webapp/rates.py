"""A success rate with its 95% interval, as text and as a drawn bar (`components/interval.html`): one for all pages."""

from __future__ import annotations

from dataclasses import dataclass

POINT = 3  # width of the mark at the rate


@dataclass(frozen=True, slots=True)
class Rate:
    """`width` is that of the drawn scale from 0 to 1. Example of texts: `33.6` and `28.1–39.6%`."""

    value: float
    low: float
    high: float
    width: int = 200

    @property
    def percent(self) -> str:
        return percent(self.value)

    @property
    def interval(self) -> str:
        return f"{percent(self.low)}–{percent(self.high)}%"

    @property
    def middle(self) -> int:
        return self.width // 2

    @property
    def bar_x(self) -> str:
        return f"{self.low * self.width:.1f}"

    @property
    def bar_width(self) -> str:
        return f"{(self.high - self.low) * self.width:.1f}"

    @property
    def point_x(self) -> str:
        return f"{min(max(self.value * self.width - POINT / 2, 0), self.width - POINT):.1f}"


def percent(rate: float) -> str:
    """In percent with one decimal, without the sign: 2,048 episodes have a standard error of about one point."""
    return f"{rate * 100:.1f}"
