"""A killed engine leaves Ray processes on this machine; the cleanup by cookie ends all of them."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import pytest

from tests.engine.cluster.runs import descendants, engine, needs_ray, ray_config, rolling_out, wait_for
from workers.process import processes_with_cookie, sweep

pytestmark = [pytest.mark.slow, needs_ray]


def test_ray_processes_of_a_killed_engine_are_ended(tmp_path: Path) -> None:
    cookie = f"ray-leftovers-{os.getpid()}"
    with engine(ray_config(steps=1000), tmp_path, STARBOARD_RUN=cookie, SPT_NOENV="1") as process:
        wait_for(tmp_path, rolling_out(2))
        family = descendants(process)
        assert len(family) > 3  # Ray's own processes and two actors
        process.send_signal(signal.SIGKILL)
        process.wait()
        found = sweep(cookie, seconds=20.0)
    assert not found.left
    assert processes_with_cookie(cookie) == []
    time.sleep(1.0)  # a killed process may take a moment to end
    assert not [one for one in family if one.is_running() and one.status() != "zombie"]
