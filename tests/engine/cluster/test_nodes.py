"""Two nodes on this machine, one of them killed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.engine.cluster.runs import actors, engine, events, needs_ray, ray_config, rolling_out, train, wait_for


def pid_of(node: Any) -> int:
    """Of the process that starts a node's actors."""
    return int(node.all_processes["raylet"][0].process.pid)


pytestmark = [pytest.mark.slow, needs_ray]


def test_a_node_that_goes_ends_the_attempt_and_with_another_node_the_run_goes_on(tmp_path: Path) -> None:
    from ray.cluster_utils import Cluster

    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, "include_dashboard": False})
    try:
        nodes = [cluster.add_node(num_cpus=1) for _ in range(2)]  # room for one actor each
        config = ray_config(steps=4, rollout={"groups": 8, "group_size": 8})
        with engine(config, tmp_path, RAY_ADDRESS=cluster.address) as process:
            wait_for(tmp_path, rolling_out(3))
            learner = actors("LearnerActor")[0]
            cluster.remove_node(next(node for node in nodes if pid_of(node) == learner.ppid()), allow_graceful=False)
            assert process.wait(200) == 1
        last = events(tmp_path)[-1]
        assert last.kind == "run_failed" and last.mendable
        cluster.add_node(num_cpus=1)
        assert train(config, tmp_path, "--resume", RAY_ADDRESS=cluster.address, STARBOARD_ATTEMPT="2") == 0
    finally:
        cluster.shutdown()
    assert events(tmp_path)[-1].kind == "run_finished"
    assert [event.resumed_from for event in events(tmp_path) if event.kind == "run_started"] == [None, 2]
