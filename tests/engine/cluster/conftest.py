"""One Ray for the tests that need no Ray of their own: to start one takes longer than most of what they do."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

PROCESSORS = 8  # more than any of these runs has actors


@pytest.fixture(scope="session")
def ray_address() -> Iterator[str]:
    """Of a Ray on this machine without GPUs. Each run has a namespace of its own there, and gives back what it held."""
    from ray.cluster_utils import Cluster

    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": PROCESSORS, "include_dashboard": False})
    yield cluster.address
    cluster.shutdown()
