"""What is said about one metric, one section and one chart. No torch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple


@dataclass(frozen=True, slots=True, kw_only=True)
class Metric:
    """One entry of the glossary, in words for a reader who has not seen the metric before.

    A `name` with `<tag>` or `<case>` is a pattern. `low` and `high` are where an axis should begin and end, None where
    the data decides. `log` asks for a logarithmic axis. `bad` says what bad looks like, and what it may mean.
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
    """Metrics that are looked at together: the first part of their names, and a heading."""

    key: str
    title: str


class Chart(NamedTuple):
    """Metrics that share one chart."""

    title: str
    names: tuple[str, ...]
