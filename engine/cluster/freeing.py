"""That a run has given back what it held of a cluster, by Ray's own account of it."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from engine.cluster.connection import first_words, import_ray

GONE_SECONDS = 20.0
LOOK_SECONDS = 0.1
REMOVED = "REMOVED"  # what Ray calls a placement group whose bundles are free again


@dataclass(frozen=True, slots=True, kw_only=True)
class Freed:
    """`left` are living actors in the run's namespace; `group` is the state of its placement group."""

    left: list[str]
    group: str
    seconds: float
    fault: str = ""  # why Ray could not be asked

    @property
    def proven(self) -> bool:
        return not self.fault and not self.left and self.group == REMOVED

    def in_words(self) -> str:
        if self.fault:
            return f"What the run held of its cluster was given back, and Ray could not be asked: {self.fault}."
        after = f"{self.seconds:.1f} seconds after they were ended"
        if self.proven:
            return f"Ray shows no actor of the run, and its placement group as removed, {after}."
        shown = f"the actors {', '.join(sorted(self.left))}" if self.left else "no actor of the run"
        return f"Ray still shows {shown}, and its placement group as {self.group.lower()}, {after}."


def free(actors: Sequence[Any], group: Any) -> Freed:
    """Ends the actors, which all have names, and removes the group they are in; waits until Ray says so of both."""
    from ray.util.placement_group import placement_group_table, remove_placement_group

    def account() -> tuple[list[str], str]:
        return list(ray.util.list_named_actors()), str(placement_group_table(group).get("state", REMOVED))

    ray = import_ray()
    began = time.monotonic()
    try:
        for actor in actors:
            ray.kill(actor, no_restart=True)
        remove_placement_group(group)
        while (told := account()) != ([], REMOVED) and time.monotonic() < began + GONE_SECONDS:
            time.sleep(LOOK_SECONDS)
    except ray.exceptions.RayError as error:  # its head is gone
        return Freed(left=[], group="", seconds=time.monotonic() - began, fault=first_words(error))
    return Freed(left=told[0], group=told[1], seconds=time.monotonic() - began)
