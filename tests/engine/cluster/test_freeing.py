"""However a run ends, the cluster is as it was, in the eyes of somebody else on it; and the run says so."""

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
from engine.cluster.freeing import Freed
from engine.events import ClusterReleased
from tests.engine.cluster.runs import engine, events, needs_ray, ray_config, rolling_out, wait_for

Process = subprocess.Popen[bytes]


def stop(process: Process, directory: Path) -> None:
    (directory / "control.json").write_text(json.dumps({"request": "stop"}))


def kill(process: Process, directory: Path) -> None:
    process.send_signal(signal.SIGKILL)


@pytest.fixture
def elsewhere(ray_address: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Ray as another driver on the same cluster has it."""
    import ray

    monkeypatch.setenv("RAY_ADDRESS", ray_address)
    connect(0, namespace="elsewhere")
    yield ray
    disconnect()


def what_is_taken(ray: Any) -> tuple[list[dict[str, str]], float]:
    """Actors of all namespaces, and processors that are not free."""
    total, free = ray.cluster_resources(), ray.available_resources()
    return ray.util.list_named_actors(all_namespaces=True), total["CPU"] - free.get("CPU", 0.0)


@pytest.mark.slow
@needs_ray
@pytest.mark.parametrize(("end", "status"), [(stop, 0), (kill, -9)], ids=["stop", "kill"])
def test_a_run_that_ended_holds_nothing_of_the_cluster(
    end: Callable[[Process, Path], None], status: int, tmp_path: Path, ray_address: str, elsewhere: Any
) -> None:
    config = ray_config(steps=1000, rollout={"groups": 8, "group_size": 8})
    with engine(config, tmp_path, RAY_ADDRESS=ray_address) as process:
        wait_for(tmp_path, rolling_out(2))
        named, taken = what_is_taken(elsewhere)
        assert (len(named), taken) == (2, 2.0)  # a sampler and a learner
        end(process, tmp_path)
        assert process.wait(100) == status
        deadline = time.monotonic() + 30
        while (seen := what_is_taken(elsewhere)) != ([], 0.0) and time.monotonic() < deadline:
            time.sleep(0.2)
    assert seen == ([], 0.0)
    told = [event for event in events(tmp_path) if isinstance(event, ClusterReleased)]
    assert [event.proven for event in told] == ([] if end is kill else [True])
    assert all("no actor of the run, and its placement group as removed" in event.account for event in told)


def test_what_is_no_proof_is_told_as_none() -> None:
    left = Freed(left=["sampler-1-3", "learner-0-1"], group="REMOVED", seconds=20.04)
    assert not left.proven
    assert left.in_words() == (
        "Ray still shows the actors learner-0-1, sampler-1-3, and its placement group as removed, 20.0 seconds after "
        "they were ended."
    )
    held = Freed(left=[], group="CREATED", seconds=20.0)
    assert not held.proven and "no actor of the run, and its placement group as created" in held.in_words()
    deaf = Freed(left=[], group="", seconds=1.0, fault="RaySystemError: the head is gone")
    assert not deaf.proven and "could not be asked: RaySystemError" in deaf.in_words()
    assert Freed(left=[], group="REMOVED", seconds=0.5).proven
