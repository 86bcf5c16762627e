"""A learner that fails while it gathers its weights ends the weight sync at once, although all others block on it; and
a learner on a full disk is not a failure."""

from __future__ import annotations

import errno
import time
from collections.abc import Iterator, Sequence
from types import SimpleNamespace
from typing import Any, cast

import pytest

from engine.cluster.actors import ActorPool, Call
from engine.cluster.connection import ClusterFault, connect, disconnect
from engine.cluster.waiting import results
from engine.cluster.weight_transfer import ObjectStore
from engine.disk_room import is_no_room
from tests.engine.cluster.runs import needs_ray

pytestmark = [pytest.mark.slow, needs_ray]


@pytest.fixture
def cluster(ray_address: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("RAY_ADDRESS", ray_address)  # one of its own would want a token of the whole process
    connect(3, namespace="failing-sync")
    yield
    disconnect()


def pool_whose_second_learner_fails() -> ActorPool:
    import ray

    class Waiting:
        def weights(self) -> None:
            time.sleep(600)  # like a collective operation that one member has left

    class Failing:
        def weights(self) -> None:
            raise MemoryError("CUDA out of memory")

    class Sampler:
        def load(self, weights: Any) -> None: ...

    learners, sampler = [ray.remote(Waiting).remote(), ray.remote(Failing).remote()], ray.remote(Sampler).remote()
    return cast(ActorPool, SimpleNamespace(learners=learners, samplers=[sampler]))


def wait(calls: Sequence[Call]) -> list[Any]:
    names = [name for name, _ in calls]
    references = [reference for _, reference in calls]
    return results(references, phase="Weight sync", minutes=1, check_cancelled=lambda: None, names=names)


def test_an_error_of_one_learner_is_raised_at_once(cluster: None) -> None:
    transfer = ObjectStore(pool_whose_second_learner_fails(), wait)
    with pytest.raises(ClusterFault, match=r"Weight sync failed in learner 1: .*CUDA out of memory"):
        transfer.send()


def test_a_full_disk_is_raised_as_it_was_so_that_the_run_waits_for_room(cluster: None) -> None:
    import ray

    @ray.remote
    def save() -> None:
        raise OSError(errno.EDQUOT, "Disk quota exceeded")

    with pytest.raises(OSError, match="Disk quota exceeded") as refused:
        wait([("learner 0", save.remote())])
    assert is_no_room(refused.value)
