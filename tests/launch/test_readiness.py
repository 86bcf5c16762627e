"""`/readyz` names what a site lacks, one part after the other, until nothing is missing; real servers and processes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.launch.deployment import Deployment, get, wait_for
from tests.launch.installation import free_port

pytestmark = pytest.mark.slow


def lacking(port: int) -> dict[str, str]:
    status, text = get(port, "/readyz")
    answer = json.loads(text)
    assert status == (503 if answer["status"] == "not ready" else 200)
    return dict(answer.get("not_ready", {}))


def test_the_site_is_ready_once_it_has_tables_redis_and_a_worker(tmp_path: Path) -> None:
    port = free_port()
    with Deployment(tmp_path) as one:
        one.start_site(port)
        assert list(lacking(port)) == ["migrations", "redis", "workers"]
        assert "manage.py migrate" in lacking(port)["migrations"]
        one.prepare()
        # an answer is repeated for a second, and the tables may take less than that
        wait_for(lambda: list(lacking(port)) == ["redis", "workers"], "a site with tables")
        one.start_redis()
        wait_for(lambda: list(lacking(port)) == ["workers"], "a site that reaches Redis")
        worker = one.start_worker()
        wait_for(lambda: not lacking(port), "a site that is ready")

        worker.kill()  # it cannot withdraw: its presence expires after 20 seconds
        wait_for(lambda: "was heard of" in lacking(port).get("workers", ""), "a worker that is missed", 30)
        worker = one.start_worker()
        wait_for(lambda: not lacking(port), "a site that is ready")
        worker.terminate()
        worker.wait()
        # it has withdrawn, and an answer is at most a second old
        wait_for(lambda: list(lacking(port)) == ["workers"], "a worker that has withdrawn", 3)


def test_a_worker_of_evaluations_alone_supervises_no_run(tmp_path: Path) -> None:
    port = free_port()
    with Deployment(tmp_path) as one:
        one.start_redis()
        one.prepare()
        one.start_site(port)
        one.start_worker("evaluator", "-Q", "evaluations")
        assert list(lacking(port)) == ["workers"]


def test_no_answer_has_an_address_or_a_password(tmp_path: Path) -> None:
    port = free_port()
    database = f"postgres://ada:secret-of-ada@127.0.0.1:{free_port()}/starboard"
    with Deployment(tmp_path, database) as one:
        one.start_site(port)
        status, text = get(port, "/readyz")
        assert status == 503
        assert json.loads(text)["not_ready"] == {
            "database": "cannot be reached",
            "migrations": "cannot be reached",
            "redis": "cannot be reached",
            "workers": "cannot be reached",
        }
