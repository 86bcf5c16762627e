"""A run's hold on a cluster: its placement group, reserved all at once or not at all, and released at the end."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from engine.cluster.connection import ClusterFault, ClusterUnavailable, first_line, import_ray
from engine.cluster.reporting import REMOVED, ReleaseReport, RunReporter
from engine.cluster.resources import Resources
from engine.event_lines import parse_event
from engine.events import RunStarted

POLL_SECONDS = 1.0
LOST_SECONDS = 30.0
REPEAT_SECONDS = 60.0  # a run without any event for long is taken for one that hangs
RELEASE_SECONDS = 20.0
RELEASE_POLL_SECONDS = 0.1


def reserve(resources: Resources, *, minutes: float, reporter: RunReporter) -> Any:
    """Waits until the cluster has granted all of `resources`. Reports what is missing when it changes, and once a
    minute.

    Checks for cancellation every second. Raises `ClusterUnavailable` after `minutes` (0: never).
    """
    ray = import_ray()
    from ray.util.placement_group import placement_group, remove_placement_group

    group = placement_group(resources.bundles, strategy="PACK")
    ready, started, reported, reported_at = group.ready(), time.monotonic(), "", 0.0
    try:
        while not ray.wait([ready], timeout=POLL_SECONDS)[0]:
            reporter.check_cancelled()
            missing = resources.describe_missing(ray.available_resources(), ray.cluster_resources())
            if missing != reported or time.monotonic() - reported_at > REPEAT_SECONDS:
                reported, reported_at = missing, time.monotonic()
                reporter.status(missing)
            if minutes and time.monotonic() - started > 60 * minutes:
                raise ClusterUnavailable(
                    f"The cluster did not have what the run needs within {minutes:g} minutes: it {missing}.",
                    remedy="Add machines, lower cluster.samplers, cluster.learners or cluster.tensor_parallel, or "
                    "raise cluster.wait_minutes.",
                )
    except BaseException:
        remove_placement_group(group)
        raise
    return group


def check_placement(group: Any, check_cancelled: Callable[[], None]) -> Callable[[], None]:
    """`check_cancelled` that also raises a `ClusterFault` when `group` is incomplete for half a minute: its node is
    gone, and Ray would silently wait for another."""
    from ray.util.placement_group import placement_group_table

    started = time.monotonic()

    def check() -> None:
        check_cancelled()
        if time.monotonic() - started > LOST_SECONDS and placement_group_table(group)["state"] != "CREATED":
            raise ClusterFault(
                "A machine of the run left the cluster, and no other machine has room for its actors.",
                remedy="The run resumes from its last checkpoint when the cluster has what it needs.",
            )

    return check


def release(actors: Sequence[Any], group: Any) -> ReleaseReport:
    """Ends the actors, which are all named, and removes their placement group; waits until Ray confirms both."""
    from ray.util.placement_group import placement_group_table, remove_placement_group

    def remaining() -> tuple[list[str], str]:
        return list(ray.util.list_named_actors()), str(placement_group_table(group).get("state", REMOVED))

    ray = import_ray()
    started = time.monotonic()
    try:
        for actor in actors:
            ray.kill(actor, no_restart=True)
        remove_placement_group(group)
        while (left := remaining()) != ([], REMOVED) and time.monotonic() < started + RELEASE_SECONDS:
            time.sleep(RELEASE_POLL_SECONDS)
    except ray.exceptions.RayError as error:  # the head is gone
        return ReleaseReport(left=[], group="", seconds=time.monotonic() - started, fault=first_line(error))
    return ReleaseReport(left=left[0], group=left[1], seconds=time.monotonic() - started)


def used_gpus_before(events: Path) -> bool:
    """Whether the latest attempt that started had GPUs. When a cluster restarts, its GPU machines may join last."""
    if not events.is_file():
        return False
    with events.open("rb") as lines:
        started = [line for line in lines if b'"run_started"' in line and line.endswith(b"\n")]
    starts = [event for event in map(parse_event, started) if isinstance(event, RunStarted)]
    return bool(starts) and starts[-1].device == "cuda"
