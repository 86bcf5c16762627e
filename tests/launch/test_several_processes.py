"""A team's deployment with real servers: PostgreSQL through a pool, Redis, two sites and two workers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.engine.models import save_small_model
from tests.engine.training.test_runs import run_config
from tests.launch.deployment import Deployment, get, open_socket, wait_for
from tests.launch.installation import free_port
from tests.on_postgres import find_programs, server

pytestmark = pytest.mark.slow

STATE = (
    "from webapp.runs.models import Run; "
    "print([(run.state, run.last_seq) for run in Run.objects.order_by('queued_at')])"
)


def test_a_run_launched_on_one_site_is_seen_live_on_the_other(tmp_path: Path) -> None:
    programs = find_programs()
    assert programs is not None, "PostgreSQL is not installed"
    first, second = free_port(), free_port()
    with server(programs) as database, Deployment(tmp_path, database, STARBOARD_DATABASE_POOL="20") as one:
        one.start_redis()
        one.prepare()
        one.start_site(first)
        one.start_site(second)
        one.start_worker("first")
        one.start_worker("second")
        wait_for(lambda: get(first, "/readyz")[0] == get(second, "/readyz")[0] == 200, "sites that are ready")
        cookie = one.cookie()
        run = one.submit(run_config(save_small_model(tmp_path / "model"), steps=4), "shared")
        follow = f"/ws/runs/{run}/?after=0"
        with open_socket(first, follow, cookie) as at_first, open_socket(second, follow, cookie) as at_second:
            seen = [steps_until_the_end(socket) for socket in (at_first, at_second)]
        assert seen == [[1, 2, 3, 4], [1, 2, 3, 4]]
        page = get(second, f"/runs/{run}/", Cookie=cookie)
        assert page[0] == 200
        recorded = (tmp_path / "data" / "runs" / run / "events.jsonl").read_bytes().count(b"\n")
        wait_for(lambda: one.ask(STATE).endswith(f"[('finished', {recorded})]"), "a run that has finished")


def steps_until_the_end(socket: Any) -> list[int]:
    """The steps in the order in which the socket reports them."""
    steps: list[int] = []
    while True:
        message = json.loads(socket.recv(timeout=120))
        events = message.get("events", [])
        steps += [event["step"] for event in events if event["kind"] == "step_completed"]
        if any(event["kind"] in ("run_finished", "run_failed") for event in events):
            return steps
