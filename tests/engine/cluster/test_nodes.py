"""Two nodes on this machine, one of them killed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil
import pytest

from engine.training.run_directory import Sink
from tests.engine.cluster.runs import (
    actors,
    at_first,
    events,
    local,
    needs_ray,
    new_cluster,
    ray_config,
    rolling_out,
    train,
)


def pid_of(node: Any) -> int:
    """The process that starts a node's actors."""
    return int(node.all_processes["raylet"][0].process.pid)


pytestmark = [pytest.mark.slow, needs_ray]


@contextmanager
def three_nodes() -> Iterator[tuple[Any, list[Any]]]:
    """A head without resources, and two nodes with room for one actor each."""
    cluster = new_cluster(num_cpus=0)
    try:
        yield cluster, [cluster.add_node(num_cpus=1) for _ in range(2)]
    finally:
        cluster.shutdown()


def lose_the_node_of(actor: psutil.Process, cluster: Any, nodes: list[Any]) -> None:
    lost = next(node for node in nodes if pid_of(node) == actor.ppid())
    nodes.remove(lost)
    cluster.remove_node(lost, allow_graceful=False)


def test_a_lost_node_ends_the_attempt_and_the_run_resumes_where_there_is_room_for_its_actors(
    tmp_path: Path,
) -> None:
    config = ray_config(steps=1000, cluster={"phase_minutes": 60})

    def lose(role: str, *, step: int) -> Sink:
        """The node of an actor, as soon as a step begins."""
        return at_first(rolling_out(step), lambda: lose_the_node_of(actors(role)[0], cluster, nodes))

    with three_nodes() as (cluster, nodes):
        address = {"RAY_ADDRESS": local(cluster.address)}
        assert train(config, tmp_path, sinks=[lose("LearnerActor", step=3)], **address) == 1
        assert events(tmp_path)[-1].kind == "run_failed" and events(tmp_path)[-1].retryable
        nodes.append(cluster.add_node(num_cpus=1))
        # and no other node has room for another sampler
        sinks = [lose("SamplerActor", step=4)]
        assert train(config, tmp_path, resume=True, sinks=sinks, STARBOARD_ATTEMPT="2", **address) == 1
    recorded = events(tmp_path)
    assert [event.resumed_from for event in recorded if event.kind == "run_started"] == [None, 2]
    assert recorded[-1].kind == "run_failed" and recorded[-1].retryable
    assert (
        "no other machine has room" in recorded[-1].message
        and "resumes from its last checkpoint" in recorded[-1].remedy
    )
