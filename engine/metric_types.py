"""What is said about one metric."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True, kw_only=True)
class Metric:
    """`low` and `high` are where an axis should begin and end, None where data decides."""

    name: str
    title: str
    meaning: str
    section: str
    unit: str = ""
    formula: str = ""
    bad: str = ""
    low: float | None = None
    high: float | None = None
    log: bool = False
    better: Literal["higher", "lower"] | None = None
