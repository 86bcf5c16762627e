"""Colocated, samplers use a GPU while they are awake, and learners while the samplers sleep."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from engine.cluster.actors import ActorPool
from engine.cluster.connection import connect, disconnect
from engine.cluster.ray_backend import RayBackend
from engine.cluster.reporting import RunReporter
from tests.engine.cluster.runs import needs_ray, ray_config

pytestmark = [pytest.mark.slow, needs_ray]


class Recording:
    """Records calls in a shared file."""

    def __init__(self, name: str, file: str) -> None:
        self.name, self.file = name, file

    def note(self, what: str) -> None:
        with Path(self.file).open("a") as file:
            file.write(f"{self.name} {what}\n")

    def free_cached_memory(self) -> None:
        self.note("frees")

    def sleep(self) -> None:
        self.note("sleeps")

    def wake(self) -> None:
        self.note("wakes")


@pytest.fixture
def cluster(ray_address: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    import ray

    monkeypatch.setenv("RAY_ADDRESS", ray_address)
    connect(4, namespace="taking-turns")
    yield ray
    disconnect()


def test_learners_free_cached_memory_before_any_sampler_wakes(cluster: Any, tmp_path: Path) -> None:
    def two(name: str) -> list[Any]:
        actor = cluster.remote(Recording)
        return [actor.remote(f"{name} {index}", str(tmp_path / "notes")) for index in range(2)]

    config = ray_config(cluster={"placement": "colocated", "samplers": 2, "learners": 2})
    backend = RayBackend(config, tmp_path, RunReporter(status=lambda _: None, warn=lambda message, **_: None))
    backend.pool = cast(ActorPool, SimpleNamespace(samplers=two("sampler"), learners=two("learner")))
    backend._wake()  # they are awake
    backend._put_to_sleep()
    backend._wake()
    notes = (tmp_path / "notes").read_text().splitlines()
    assert [sorted(notes[at : at + 2]) for at in (0, 2, 4)] == [
        ["sampler 0 sleeps", "sampler 1 sleeps"],
        ["learner 0 frees", "learner 1 frees"],
        ["sampler 0 wakes", "sampler 1 wakes"],
    ]
    assert len(notes) == 6
