"""With `STARBOARD_LOG_FORMAT=json` each line of site and worker is an object that says what it is about."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.engine.models import save_small_model
from tests.engine.training.test_runs import run_config
from tests.launch.deployment import Deployment, get, wait_for
from tests.launch.installation import free_port

pytestmark = pytest.mark.slow

FINISHED = "from webapp.runs.models import Run; print(Run.objects.get().state)"


CELERYS = "worker: Warm shutdown"  # which it prints, after an empty line


def lines(one: Deployment, name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in one.output(name).splitlines() if line and not line.startswith(CELERYS)]


def test_lines_of_site_and_worker_name_request_user_and_run(tmp_path: Path) -> None:
    port = free_port()
    with Deployment(tmp_path, STARBOARD_LOG_FORMAT="json") as one:
        one.start_redis()
        one.prepare()
        one.start_site(port)
        cookie = {"Cookie": one.cookie()}
        run = one.submit(run_config(save_small_model(tmp_path / "model"), steps=1), "logged")
        get(port, "/runs/no-such-run/", **cookie, **{"X-Request-ID": "of-the-proxy"})
        get(port, "/nothing/", **{"X-Request-ID": "two words"})
        worker = one.start_worker()
        wait_for(lambda: one.ask(FINISHED).endswith("finished"), "a run that has finished")
        worker.terminate()
        worker.wait()

        for line in lines(one, f"site {port}") + lines(one, "worker"):
            assert line.keys() >= {"time", "level", "logger", "message", "process"}
        refused, unknown = (line for line in lines(one, f"site {port}") if "Not Found" in line["message"])
        assert (refused["request_id"], refused["user_id"], refused["run_id"]) == ("of-the-proxy", "1", "no-such-run")
        assert unknown["request_id"] != "two words"
        assert "user_id" not in unknown
        supervised = [line for line in lines(one, "worker") if line["logger"] == "workers.supervisor"]
        assert len(supervised) >= 2
        assert {line["run_id"] for line in supervised} == {run}
        assert not any("run_id" in line for line in lines(one, "worker") if line["logger"].startswith("celery.apps"))
