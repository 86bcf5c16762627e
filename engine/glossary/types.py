"""The entries of the glossary: metrics, sections and charts. No torch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple


@dataclass(frozen=True, slots=True, kw_only=True)
class Metric:
    """One metric, explained to a reader who has not seen it before.

    A `name` with `<tag>`, `<case>` or `<name>` is a pattern. `low` and `high` are the ends of an axis, None for
    automatic. `log` is for a logarithmic axis. `bad` says which values are bad, and what they may mean.
    """

    name: str
    section: str
    title: str
    meaning: str
    unit: str = ""
    formula: str = ""
    bad: str = ""
    low: float | None = None
    high: float | None = None
    log: bool = False
    better: Literal["higher", "lower"] | None = None


class Section(NamedTuple):
    """Metrics that are shown together: the first part of their names, and a heading."""

    key: str
    title: str


class Chart(NamedTuple):
    """Metrics that share one chart."""

    title: str
    names: tuple[str, ...]
