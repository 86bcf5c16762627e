"""However a run ends, it releases what it held of the cluster, as another driver sees it, and reports that."""

from __future__ import annotations

import json
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from engine.cluster.connection import connect, disconnect
from engine.cluster.reporting import ReleaseReport
from engine.events import ClusterReleased
from tests.engine.cluster.runs import engine, events, needs_ray, ray_config, rolling_out, wait_for

Process = subprocess.Popen[bytes]


def stop(process: Process, directory: Path) -> None:
    (directory / "control.json").write_text(json.dumps({"request": "stop"}))


def kill(process: Process, directory: Path) -> None:
    process.send_signal(signal.SIGKILL)


@pytest.fixture
def other_driver(ray_address: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Ray as another driver on the same cluster has it."""
    import ray

    monkeypatch.setenv("RAY_ADDRESS", ray_address)
    connect(0, namespace="elsewhere")
    yield ray
    disconnect()


def used_resources(ray: Any) -> tuple[list[dict[str, str]], float]:
    """Actors of all namespaces, and CPUs in use."""
    total, free = ray.cluster_resources(), ray.available_resources()
    return ray.util.list_named_actors(all_namespaces=True), total["CPU"] - free.get("CPU", 0.0)


@pytest.mark.slow
@needs_ray
@pytest.mark.parametrize(("end", "status"), [(stop, 0), (kill, -9)], ids=["stop", "kill"])
def test_a_run_that_ended_holds_nothing_of_the_cluster(
    end: Callable[[Process, Path], None], status: int, tmp_path: Path, ray_address: str, other_driver: Any
) -> None:
    config = ray_config(steps=1000, rollout={"groups": 8, "group_size": 8})
    with engine(config, tmp_path, RAY_ADDRESS=ray_address) as process:
        wait_for(tmp_path, rolling_out(2))
        named, taken = used_resources(other_driver)
        assert (len(named), taken) == (2, 2.0)  # a sampler and a learner
        end(process, tmp_path)
        assert process.wait(100) == status
        deadline = time.monotonic() + 30
        while (used := used_resources(other_driver)) != ([], 0.0) and time.monotonic() < deadline:
            time.sleep(0.2)
    assert used == ([], 0.0)
    reports = [event for event in events(tmp_path) if isinstance(event, ClusterReleased)]
    assert [event.proven for event in reports] == ([] if end is kill else [True])
    assert all("no actor of the run, and its placement group as removed" in event.message for event in reports)


def test_a_release_is_confirmed_only_if_ray_shows_nothing_left() -> None:
    left = ReleaseReport(left=["sampler-1-3", "learner-0-1"], group="REMOVED", seconds=20.04)
    assert not left.confirmed
    assert left.describe() == (
        "Ray still shows the actors learner-0-1, sampler-1-3, and its placement group as removed, 20.0 seconds after "
        "the release."
    )
    held = ReleaseReport(left=[], group="CREATED", seconds=20.0)
    assert not held.confirmed and "no actor of the run, and its placement group as created" in held.describe()
    unreachable = ReleaseReport(left=[], group="", seconds=1.0, fault="RaySystemError: the head is gone")
    assert not unreachable.confirmed and "could not be queried: RaySystemError" in unreachable.describe()
    assert ReleaseReport(left=[], group="REMOVED", seconds=0.5).confirmed
