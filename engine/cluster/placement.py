"""A placement group for a run: all that it needs, at once and near together, or none of it."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from engine.cluster.connection import import_ray
from engine.cluster.faults import ClusterFault, NoCluster
from engine.cluster.needs import Needs

LOOK_SECONDS = 1.0
LOST_SECONDS = 30.0
REPEAT_SECONDS = 60.0  # whoever watches takes silence for a run that hangs


def reserve(needs: Needs, *, minutes: float, tell: Callable[[str], None], check_cancelled: Callable[[], None]) -> Any:
    """Waits until the cluster has given all of `needs`; `tell` hears what is lacking when it changes, and every minute.

    `check_cancelled` is called every second and raises to leave. After `minutes` (0: never) it is a `NoCluster`.
    """
    ray = import_ray()
    from ray.util.placement_group import placement_group, remove_placement_group

    group = placement_group(needs.bundles, strategy="PACK")
    ready, began, told, told_at = group.ready(), time.monotonic(), "", 0.0
    try:
        while not ray.wait([ready], timeout=LOOK_SECONDS)[0]:
            check_cancelled()
            lacking = needs.in_words(ray.available_resources(), ray.cluster_resources())
            if lacking != told or time.monotonic() - told_at > REPEAT_SECONDS:
                told, told_at = lacking, time.monotonic()
                tell(lacking)
            if minutes and time.monotonic() - began > 60 * minutes:
                raise NoCluster(
                    f"The cluster had not what the run needs within {minutes:g} minutes: it {lacking}.",
                    remedy="Add machines, lower cluster.samplers, cluster.learners or cluster.tensor_parallel, or "
                    "raise cluster.wait_minutes.",
                )
    except BaseException:
        remove_placement_group(group)
        raise
    return group


def unless_lost(group: Any, check_cancelled: Callable[[], None]) -> Callable[[], None]:
    """`check_cancelled`, which raises a `ClusterFault` too when `group` is not whole after half a minute: its node is gone,
    and Ray would wait for another without a word."""
    from ray.util.placement_group import placement_group_table

    began = time.monotonic()

    def look() -> None:
        check_cancelled()
        if time.monotonic() - began > LOST_SECONDS and placement_group_table(group)["state"] != "CREATED":
            raise ClusterFault(
                "A machine of the run has left the cluster, and no other has room for what it held.",
                remedy="The run goes on from its last checkpoint when the cluster has what it needs.",
            )

    return look
