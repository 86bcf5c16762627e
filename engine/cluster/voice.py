"""How a backend on a cluster speaks to who follows the run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from engine.cluster.freeing import Freed
from engine.training.backend import never_cancelled


class Warn(Protocol):
    def __call__(self, message: str, *, metric: str = "cluster/replaced_samplers", value: float = 1.0) -> None:
        """`metric` and `value` are what shows it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Voice:
    """`tell` what it waits for, `warn` of what went wrong and was mended, `freed` of what the cluster says when the
    actors are gone; `check_cancelled` raises to leave."""

    tell: Callable[[str], None]
    warn: Warn
    freed: Callable[[Freed], None] = lambda _: None
    check_cancelled: Callable[[], None] = never_cancelled
