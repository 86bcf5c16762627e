"""A process that hangs: what is reported of it, and that it is ended."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from engine.events import AlertRaised
from engine.process_snapshots import ActorLocation, py_spy_path, py_spy_stacks, take_snapshots
from engine.stack_text import innermost
from tests.engine.cluster.runs import actors, engine, events, needs_ray, new_cluster, ray_config, rolling_out, wait_for

WORKER = """
import sys, time
from pathlib import Path
from engine.cluster.actor_process import set_up

def hang():
    print("the last line", file=sys.stderr, flush=True)
    while True:
        time.sleep(0.1)

{setting}
hang()
"""
SET_UP = 'set_up("worker", Path(sys.argv[1]))'


@contextmanager
def hanging(folder: Path, setting: str) -> Iterator[int]:
    """A process that hangs in `hang`; its id."""
    errors = folder / "errors"
    with errors.open("w") as file:
        process = subprocess.Popen([sys.executable, "-c", WORKER.format(setting=setting), str(folder)], stderr=file)
    try:
        deadline = time.monotonic() + 60
        while "the last line" not in errors.read_text() and time.monotonic() < deadline:
            time.sleep(0.05)
        yield process.pid
    finally:
        process.kill()
        process.wait()


def test_a_snapshot_shows_where_a_process_hangs_and_its_last_log_line(tmp_path: Path) -> None:
    with hanging(tmp_path, SET_UP) as pid:
        (snapshot,) = take_snapshots([ActorLocation(node="here", pid=pid, name="worker")], str(tmp_path))
    assert innermost(snapshot.stack).startswith("hang")
    assert (snapshot.name, snapshot.state, snapshot.log) == ("worker", "", "the last line")


def test_a_stopped_process_is_reported_as_stopped(tmp_path: Path) -> None:
    with hanging(tmp_path, SET_UP) as pid:
        os.kill(pid, signal.SIGSTOP)
        (snapshot,) = take_snapshots([ActorLocation(node="here", pid=pid, name="worker")], str(tmp_path))
    assert snapshot.state == "stopped by a signal"
    assert innermost(snapshot.stack).startswith(
        "hang" if py_spy_path() else "no stack"
    )  # py-spy asks the kernel, not the process


def test_a_process_that_ended_is_reported_as_gone(tmp_path: Path) -> None:
    with hanging(tmp_path, SET_UP) as pid:
        pass
    (snapshot,) = take_snapshots([ActorLocation(node="here", pid=pid, name="worker")], str(tmp_path))
    assert (snapshot.state, snapshot.stack, snapshot.log) == ("gone", "", "")


@pytest.mark.skipif(py_spy_path() is None, reason="py-spy is not installed")
def test_py_spy_shows_the_stack_of_a_process_that_dumps_none(tmp_path: Path) -> None:
    with hanging(tmp_path, "") as pid:
        assert innermost(py_spy_stacks(pid)).startswith("hang")


def test_the_innermost_frame_is_found_in_either_format() -> None:
    own = 'Current thread 0x1 (most recent call first):\n  File "old.py", line 1 in old\n'
    own += 'Thread 0x2 (most recent call first):\n  File "other.py", line 2 in other\n\n'
    own += 'Current thread 0x1 (most recent call first):\n  File "new.py", line 3 in new\n'
    assert innermost(own) == "new in new.py:3"
    spied = 'Process 7: python\n\nThread 7 (idle): "MainThread"\n    all_reduce (torch/x.py:12)\n    a (b.py:1)\n'
    assert innermost(spied + 'Thread 8 (idle): "watch"\n    wait (threading.py:3)\n') == "all_reduce (torch/x.py:12)"
    assert innermost("") == "no stack"


def test_an_actor_with_several_threads_shows_the_innermost_frame_of_each() -> None:
    waiting = 'Thread 7 (idle): "MainThread"\n    main_loop (ray/worker.py:12)\n'
    inside = "    sleep (lake.py:3)\n    play (engine/cluster/environment_actors.py:46)\n"
    pool = f'Thread 8 (idle)\n{inside}Thread 9 (idle): "pool_1"\n{inside}Thread 10 (idle)\n    wait (threading.py:3)\n'
    other = 'Thread 11 (active): "pool_2"\n' + inside.replace("sleep (lake.py:3)", "read (socket.py:7)")
    assert innermost(waiting + pool) == "sleep (lake.py:3)"
    assert innermost(waiting + pool + other) == "sleep (lake.py:3), read (socket.py:7)"
    own = 'Thread 0x2 (most recent call first):\n  File "lake.py", line 3 in sleep\n'
    own += '  File "/x/engine/cluster/environment_actors.py", line 46 in play\n\n'
    own += 'Current thread 0x1 (most recent call first):\n  File "worker.py", line 12 in main_loop\n'
    assert innermost(own) == "sleep in lake.py:3"


@pytest.fixture
def two_nodes() -> Iterator[str]:
    """Address of a cluster whose actors are on another node than their driver."""
    cluster = new_cluster(num_cpus=0)
    try:
        cluster.add_node(num_cpus=2)
        yield cluster.address
    finally:
        cluster.shutdown()


@pytest.mark.slow
@needs_ray
def test_a_learner_that_hangs_is_reported_with_all_stacks_and_is_ended(tmp_path: Path, two_nodes: str) -> None:
    config = ray_config(steps=3, cluster={"phase_minutes": 0.75}, rollout={"groups": 8, "group_size": 8})
    with engine(config, tmp_path, RAY_ADDRESS=two_nodes) as process:
        wait_for(tmp_path, rolling_out(2))
        learner = actors("LearnerActor")[0]
        learner.send_signal(signal.SIGSTOP)
        assert process.wait(200) == 1
    recorded = events(tmp_path)
    (alert,) = [event for event in recorded if isinstance(event, AlertRaised)]
    assert (alert.step, alert.rule, alert.metric, alert.value) == (2, "cluster", "time/update", 45.0)
    assert "Update took longer than 0.75 minutes; learner 0 did not respond." in alert.message
    assert "learner-0-1 (stopped by a signal)" in alert.message
    assert re.search(r"sampler-0-2: \S*main_loop ", alert.message)  # it waits for work
    assert "Ray shows 2 of 2 nodes alive" in alert.message
    assert "in update\n" in (tmp_path / "stacks" / "driver.txt").read_text()
    assert recorded[-1].kind == "run_failed" and recorded[-1].retryable
    assert not actors("LearnerActor")  # so that the next attempt has room
