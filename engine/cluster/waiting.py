"""Waits for actors: leaves when asked, tells death from an error of the work itself, and does not wait for ever."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

from engine.cluster.connection import first_words, import_ray
from engine.cluster.faults import ClusterFault
from engine.errors import StarboardError

LOOK_SECONDS = 0.25


class ActorDied(ClusterFault):
    """`place` is which of the references it was that nobody answers any more."""

    def __init__(self, message: str, *, remedy: str = "", place: int = 0) -> None:
        super().__init__(message, remedy=remedy)
        self.place = place


class PhaseHangs(ClusterFault):
    """Nothing came in the `seconds` that a phase may take."""

    def __init__(self, message: str, *, remedy: str = "", seconds: float) -> None:
        super().__init__(message, remedy=remedy)
        self.seconds = seconds


def results(
    references: Sequence[Any],
    *,
    what: str,
    minutes: float,
    check_cancelled: Callable[[], None],
    names: Sequence[str],
) -> list[Any]:
    """What they come to, in order. `check_cancelled` is called four times a second and raises to leave.

    `ActorDied` names who is gone; what the work itself raised comes out as it was, or as a `ClusterFault` that quotes
    it; `PhaseHangs` after `minutes`.
    """
    ray = import_ray()
    open_places = {reference: place for place, reference in enumerate(references)}
    found: list[Any] = [None] * len(references)
    deadline = time.monotonic() + 60 * minutes
    while open_places:
        done, _ = ray.wait(list(open_places), num_returns=1, timeout=LOOK_SECONDS)
        for reference in done:
            place = open_places.pop(reference)
            found[place] = answer_of(reference, what=what, name=names[place], place=place)
        if not done:
            check_cancelled()
            if time.monotonic() > deadline:
                late = ", ".join(names[place] for place in open_places.values())
                raise PhaseHangs(
                    f"{what} took longer than {minutes:g} minutes; {late} did not answer.",
                    remedy="The stacks of all processes are in the run's folder `stacks`. If the work is just long, "
                    "raise cluster.phase_minutes.",
                    seconds=60 * minutes,
                )
    return found


def answer_of(reference: Any, *, what: str, name: str, place: int) -> Any:
    """One that is there; raises as `results` does."""
    ray = import_ray()
    try:
        return ray.get(reference)
    except ray.exceptions.RayTaskError as error:
        cause = error.cause
        if isinstance(cause, StarboardError):
            raise cause from None
        raise ClusterFault(
            f"{what} failed in {name}: {first_words(cause)}", remedy="The traceback is in the engine's log."
        ) from error
    except ray.exceptions.RayError as error:
        raise ActorDied(
            f"{name} is gone while the run was in {what.lower()}: {first_words(error)}",
            remedy="Its machine may have run out of memory or left the cluster.",
            place=place,
        ) from error
