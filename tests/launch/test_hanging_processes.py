"""Processes of the launcher that are alive and hang are ended and started again; their logs say where they hung, and
the others and the engines go on.
"""

from __future__ import annotations

import sqlite3
import sys
import threading
import time
from contextlib import closing, suppress
from pathlib import Path

import pytest
import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from engine.config import RunConfig
from tests.launch.deployment import Deployment, wait_for
from tests.launch.hanging_installation import MODULE
from tests.launch.installation import Installation, free_port
from workers.launch import probes
from workers.launch.__main__ import Launcher
from workers.launch.children import Child
from workers.launch.liveness import ProbeTimes
from workers.launch.watch import Watch

pytestmark = pytest.mark.slow

QUICK = ProbeTimes(unanswered=1.5, startup=30.0, interval=0.1, timeout=1.0)
# answers the first three requests; with the third, the only thread begins to wait for a lock that it holds itself
HANGING = """
import sys, threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from workers.stacks import write_stacks_on_signal
write_stacks_on_signal()
requests = []
class Site(BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        requests.append(self.path)
        if len(requests) == 3:
            wait_for_itself()
def wait_for_itself():
    lock = threading.Lock()
    with lock:
        lock.acquire()
HTTPServer(("127.0.0.1", int(sys.argv[1])), Site).serve_forever()
"""


def test_a_process_that_hangs_is_ended_with_its_stacks_in_its_log_and_started_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    port = free_port()
    command = [sys.executable, "-c", HANGING, str(port)]
    watch = Watch(probes.site(port, "127.0.0.1", QUICK.timeout), QUICK)
    child = Child("web", command, tmp_path / "web.log", {}, watch, writes_stacks=True)
    child.start()
    assert child.process is not None
    first = child.process.pid
    launcher = Launcher()

    def is_another() -> bool:
        launcher._look_after(child, time.monotonic())
        return child.process is not None and child.process.pid != first and watch.liveness.has_answered

    try:
        wait_for(is_another, "another process that answers", 60, every=0.02)
    finally:
        child.kill()
    log = child.log.read_text()
    assert log.count("in wait_for_itself") == 1
    assert "most recent call first" in log
    assert "web is alive but has not answered" in capsys.readouterr().out


def test_site_worker_and_redis_that_hang_are_replaced_and_engines_go_on(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    folder = tmp_path_factory.mktemp("hang")  # short, for the socket of Redis
    data_dir, logs = folder / "data", folder / "data/logs"
    with Deployment(folder) as deployment:
        deployment.prepare()
        run = deployment.submit(RunConfig.model_validate({"steps": 9999, "description": "step_seconds=0.2"}), "paced")
        with Installation(data_dir, module=MODULE) as one:
            wait_for(lambda: steps_in_rows(data_dir) > 0, "an engine that is followed")
            engines, before = one.engines(), one.children()

            for name in ("web", "worker"):
                (data_dir / f"hang-{name}").touch()
            for name in ("web", "worker"):
                wait_for(lambda name=name: one.children().get(name, before[name]) != before[name], f"another {name}")
                assert "in wait_for_itself" in (logs / f"{name}.log").read_text()
            wait_for(lambda: is_ready(one), "a site with a worker", every=0.5)
            then = one.children()
            assert then["redis"] == before["redis"]

            connected = (logs / "worker.log").read_text().count("Connected to ")
            hang(data_dir / "redis/redis.sock")
            wait_for(lambda: one.children().get("redis", then["redis"]) != then["redis"], "another Redis")
            wait_for(lambda: (logs / "worker.log").read_text().count("Connected to ") > connected, "its worker")
            wait_for(lambda: is_ready(one), "a site with Redis and a worker", every=0.5)
            assert {**then, "redis": 0} == {**one.children(), "redis": 0}
            for name in ("web", "worker", "redis"):
                assert one.output().count(f"{name} is alive but has not answered") == 1

            steps = steps_in_rows(data_dir)
            time.sleep(5)  # the worker has to be heard of every 4 s, so it has gone on although it lost its connection
            assert is_ready(one)
            assert steps_in_rows(data_dir) > steps
            assert one.engines() == engines
            events = (data_dir / "runs" / run / "events.jsonl").read_text()
            assert events.count('"run_started"') == 1


def steps_in_rows(data_dir: Path) -> int:
    with closing(sqlite3.connect(f"file:{data_dir}/starboard.sqlite3?mode=ro", uri=True)) as database:
        return int(database.execute("select count(*) from runs_stepmetrics").fetchone()[0])


def is_ready(one: Installation) -> bool:
    try:
        return one.get("/readyz").status == 200
    except OSError:
        return False


def hang(socket: Path) -> None:
    """Redis runs a script without end, and sends nothing more to anybody."""
    client = redis.Redis(unix_socket_path=str(socket), retry=Retry(NoBackoff(), 0))  # not again with the next server
    client.config_set("lua-time-limit", 0)

    def run() -> None:
        with suppress(redis.RedisError):
            client.eval("while true do end", 0)

    threading.Thread(target=run, daemon=True).start()
