"""A Ray cluster that restarts in the middle of a run: the run's next attempt waits for it and continues."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from tests.engine.cluster.runs import needs_ray, new_cluster, ray_config
from tests.workers.workplace import Workplace, events_in_file, wait_for, wait_for_state
from webapp.runs.models import Run
from webapp.runs.services import submit_run
from webapp.runs.verdicts import status_of

pytestmark = [pytest.mark.slow, needs_ray]

COLD_START = 200.0
# seconds after which Ray ends processes that lost their head node; 60 by default
GIVE_UP = {"gcs_rpc_server_reconnect_timeout_s": 5}


@contextmanager
def head(port: int) -> Iterator[Any]:
    """A cluster of one node; its remaining processes are killed at the end."""
    cluster = new_cluster(gcs_server_port=port, num_cpus=2, system=GIVE_UP)
    try:
        yield cluster
    finally:
        cluster.remove_node(cluster.head_node, allow_graceful=False)


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def test_a_run_whose_ray_cluster_restarts_shows_a_wait_reason_and_continues(
    workplace: Workplace, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    workplace.engine, workplace.limits = [], {"restart_pauses": [0.1]}
    settings.STARBOARD_ENGINE_COMMAND = None
    port = free_port()
    monkeypatch.setenv("RAY_ADDRESS", f"127.0.0.1:{port}")
    config = ray_config(steps=5, diagnostics={"every": 0}, cluster={"wait_minutes": 10})
    with head(port):
        workplace.start_worker()
        run = submit_run(owner=None, config=config)
        wait_for(lambda: run.steps.count() >= 2, seconds=COLD_START, what="two steps")
    wait_for(
        lambda: "nothing responds there" in status_of(Run.objects.get(pk=run.pk)).reason,
        seconds=COLD_START,
        what="the words",
    )
    run.refresh_from_db()
    assert (run.attempt, run.state, run.restarts) == (2, "starting", 1)
    with head(port):
        run = wait_for_state(run, "finished", seconds=COLD_START)
    resumed = [event["resumed_from"] for event in events_in_file(run) if event["kind"] == "run_started"]
    assert resumed[0] is None and resumed[1] >= 1 and len(resumed) == 2
    assert list(run.steps.values_list("step", flat=True)) == list(range(1, 6))
