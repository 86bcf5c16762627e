"""`/metrics` of a site that runs, read by Prometheus' own parser: what the site says is what happened."""

from __future__ import annotations

from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from tests.engine.models import save_small_model
from tests.engine.training.test_runs import run_config
from tests.launch.deployment import Deployment, get, open_socket, wait_for
from tests.launch.installation import free_port

pytestmark = pytest.mark.slow

TOKEN = "a token of the monitoring"
BEARER = {"Authorization": f"Bearer {TOKEN}"}
Labels = tuple[str, ...]


def scrape(port: int) -> dict[tuple[str, Labels], float]:
    status, text = get(port, "/metrics", **BEARER)
    assert status == 200
    return {
        (sample.name, tuple(sample.labels.values())): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def of(port: int, name: str) -> dict[Labels, float]:
    return {labels: value for (found, labels), value in scrape(port).items() if found == name}


def test_metrics_count_runs_events_sockets_requests_and_workers(tmp_path: Path) -> None:
    port = free_port()
    with Deployment(tmp_path, STARBOARD_METRICS_TOKEN=TOKEN) as one:
        one.start_redis()
        one.prepare()
        one.start_site(port)
        assert of(port, "starboard_worker_up") == {}
        assert set(of(port, "starboard_reachable").items()) == {(("database",), 1.0), (("redis",), 1.0)}
        run = one.submit(run_config(save_small_model(tmp_path / "model")), "measured")
        assert of(port, "starboard_runs")[("queued",)] == 1
        assert of(port, "starboard_queue_tasks")[("supervision",)] == 1

        worker = one.start_worker()
        wait_for(lambda: of(port, "starboard_runs")[("finished",)] == 1, "a run that has finished")
        wait_for(lambda: sum(of(port, "starboard_worker_supervised_runs").values()) == 0, "a worker that is free")
        (name,) = of(port, "starboard_worker_up")
        assert name[0].endswith(f":{worker.pid}")
        recorded = (tmp_path / "data" / "runs" / run / "events.jsonl").read_bytes().count(b"\n")
        assert of(port, "starboard_worker_events_total") == {name: recorded}
        assert of(port, "starboard_ingestion_lag_events") == {name: 0}
        assert of(port, "starboard_ingestion_lag_seconds") == {name: 0}
        assert of(port, "starboard_runs_unsupervised") == {(): 0}
        assert of(port, "starboard_jobs")[("suiteevaluation", "queued")] == 0

        assert of(port, "starboard_open_sockets") == {(): 0}
        with open_socket(port, f"/ws/runs/{run}/?after=0", one.cookie()) as socket:
            socket.recv(timeout=30)
            assert of(port, "starboard_open_sockets") == {(): 1}
        wait_for(lambda: of(port, "starboard_open_sockets") == {(): 0}, "a socket that is closed")

        before = of(port, "starboard_request_duration_seconds_count")
        get(port, f"/runs/{run}/")
        get(port, "/no/such/page")
        after = of(port, "starboard_request_duration_seconds_count")
        assert after[("GET", "runs/<str:run_id>/", "302")] == before.get(("GET", "runs/<str:run_id>/", "302"), 0) + 1
        assert not any("no/such" in label for labels in after for label in labels)

        one.processes[0].kill()  # Redis
        wait_for(lambda: of(port, "starboard_reachable")[("redis",)] == 0, "a Redis that is missed")
        assert of(port, "starboard_runs")[("finished",)] == 1  # what the database knows is still there


def test_metrics_are_off_without_a_setting_and_need_the_token_if_there_is_one(tmp_path: Path) -> None:
    off, on = free_port(), free_port()
    with Deployment(tmp_path) as one:
        one.prepare()
        one.start_site(off)
        assert get(off, "/metrics", **BEARER)[0] == 404
        one.start_site(on, STARBOARD_METRICS_TOKEN=TOKEN)
        assert get(on, "/metrics")[0] == 401
        assert get(on, "/metrics", Authorization="Bearer another")[0] == 401
        assert get(on, "/metrics", **BEARER)[0] == 200
