"""What a backend on a cluster reports to its run, and how it asks whether it is cancelled."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from engine.training.backend import never_cancelled

REMOVED = "REMOVED"  # Ray's state of a placement group whose bundles are free again


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseReport:
    """What Ray showed after a run gave back what it held. `left` are live actors in the run's namespace; `group` is
    the state of its placement group."""

    left: list[str]
    group: str
    seconds: float
    fault: str = ""  # why Ray could not be queried

    @property
    def confirmed(self) -> bool:
        return not self.fault and not self.left and self.group == REMOVED

    def describe(self) -> str:
        if self.fault:
            return f"The run released its actors and its placement group, but Ray could not be queried: {self.fault}."
        after = f"{self.seconds:.1f} seconds after the release"
        if self.confirmed:
            return f"Ray shows no actor of the run, and its placement group as removed, {after}."
        shown = f"the actors {', '.join(sorted(self.left))}" if self.left else "no actor of the run"
        return f"Ray still shows {shown}, and its placement group as {self.group.lower()}, {after}."


class Warn(Protocol):
    def __call__(self, message: str, *, metric: str = "cluster/replaced_samplers", value: float = 1.0) -> None:
        """`metric` and `value` go into the alert."""


def _ignore(_: ReleaseReport) -> None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class RunReporter:
    """`status` gets what the backend is waiting for, `warn` failures that it recovered from, and `released` the report
    once the actors are gone. `check_cancelled` raises when the run is cancelled."""

    status: Callable[[str], None]
    warn: Warn
    released: Callable[[ReleaseReport], None] = _ignore
    check_cancelled: Callable[[], None] = never_cancelled
