"""What an export is written from."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple


class Step(NamedTuple):
    """`time` is in seconds since the epoch, `seconds` the training time since the run began."""

    step: int
    time: float
    tokens: int
    seconds: float
    metrics: dict[str, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class About:
    """A run without its steps. Times are in seconds since the epoch; `ended` is None while it runs."""

    id: str
    name: str
    project: str
    user: str
    started: float
    ended: float | None
    succeeded: bool
    config: dict[str, Any]
    tags: list[str] = field(default_factory=list)
    notes: str = ""
