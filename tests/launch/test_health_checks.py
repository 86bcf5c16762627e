"""The health checks of containers, with a real site, worker and Redis."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.launch.deployment import Deployment, wait_for
from tests.launch.installation import free_port

pytestmark = pytest.mark.slow

HEALTHY, UNHEALTHY = 0, 1


def check(one: Deployment, part: str, port: int = 1) -> int:
    return one.start("health", sys.executable, "-m", "workers.launch.health", part, PORT=str(port)).wait(60)


def test_a_worker_is_healthy_while_it_announces_itself_and_a_site_while_it_answers(tmp_path: Path) -> None:
    port = free_port()
    with Deployment(tmp_path) as one:
        assert check(one, "worker") == UNHEALTHY  # no Redis
        one.start_redis()
        one.prepare()
        assert check(one, "worker") == UNHEALTHY
        worker = one.start_worker()
        wait_for(lambda: check(one, "worker") == HEALTHY, "a healthy worker", 30)
        worker.terminate()
        worker.wait()
        assert check(one, "worker") == UNHEALTHY

        assert check(one, "site", port) == UNHEALTHY
        one.start_site(port)
        assert check(one, "site", port) == HEALTHY
        assert one.output("health") == ""  # nothing to print, and no traceback


def test_a_part_that_does_not_exist_is_refused(tmp_path: Path) -> None:
    with Deployment(tmp_path) as one:
        assert check(one, "wroker") == 2
        assert one.output("health") == "Give one of site, worker, not wroker.\n"
