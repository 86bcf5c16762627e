"""Waits for actors: until they finish, the run is cancelled, one dies, or a phase takes too long."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

from engine.cluster.connection import ClusterFault, first_line, import_ray
from engine.disk_room import is_no_room
from engine.errors import StarboardError

POLL_SECONDS = 0.25
PHASE_METRICS = {  # the duration of each
    "Rollout": "time/rollout",
    "Scoring": "time/score",
    "Diagnostics": "time/diagnostics",
    "Update": "time/update",
    "Weight sync": "time/sync",
    "Checkpoint": "time/checkpoint",
}


class ActorDied(ClusterFault):
    """`index` is that of the reference whose actor no longer responds."""

    def __init__(self, message: str, *, remedy: str = "", index: int = 0) -> None:
        super().__init__(message, remedy=remedy)
        self.index = index


class PhaseTimeout(ClusterFault):
    """No result within the `seconds` that a phase may take."""

    def __init__(self, message: str, *, remedy: str = "", seconds: float) -> None:
        super().__init__(message, remedy=remedy)
        self.seconds = seconds


def results(
    references: Sequence[Any],
    *,
    phase: str,
    minutes: float,
    check_cancelled: Callable[[], None],
    names: Sequence[str],
) -> list[Any]:
    """The results of `references`, in order. `check_cancelled` is called four times a second and raises to cancel.

    `ActorDied` names the actor that is gone. An error of the work itself is raised as it was if it is one of ours or a
    full disk, or else as a `ClusterFault` that quotes it. `PhaseTimeout` after `minutes`.
    """
    ray = import_ray()
    pending = {reference: index for index, reference in enumerate(references)}
    found: list[Any] = [None] * len(references)
    deadline = time.monotonic() + 60 * minutes
    while pending:
        done, _ = ray.wait(list(pending), num_returns=1, timeout=POLL_SECONDS)
        for reference in done:
            index = pending.pop(reference)
            found[index] = result_of(reference, phase=phase, name=names[index], index=index)
        if not done:
            check_cancelled()
            if time.monotonic() > deadline:
                late = ", ".join(names[index] for index in pending.values())
                raise PhaseTimeout(
                    f"{phase} took longer than {minutes:g} minutes; {late} did not respond.",
                    remedy="The stacks of all processes are in the run's folder `stacks`. If the phase is just slow, "
                    "raise cluster.phase_minutes.",
                    seconds=60 * minutes,
                )
    return found


def result_of(reference: Any, *, phase: str, name: str, index: int) -> Any:
    """A result that is ready; raises as `results` does."""
    ray = import_ray()
    try:
        return ray.get(reference)
    except ray.exceptions.RayTaskError as error:
        cause = error.cause
        if isinstance(cause, StarboardError) or is_no_room(cause):
            raise cause from None
        raise ClusterFault(
            f"{phase} failed in {name}: {first_line(cause)}", remedy="The traceback is in the engine's log."
        ) from error
    except ray.exceptions.RayError as error:
        raise ActorDied(
            f"{name} died during the phase {phase.lower()}: {first_line(error)}",
            remedy="Its machine may have run out of memory or left the cluster.",
            index=index,
        ) from error
