"""PostgreSQL is stopped and started again, in order and as in a crash, while engines write and pages ask: no worker or
engine ends, no run is judged by the outage, pages say what is missing, and every event is in the rows, and reaches a
page that is open, once.
"""

from __future__ import annotations

import collections
import contextlib
import json
import threading
import time
from pathlib import Path

import pytest
from websockets.exceptions import WebSocketException
from websockets.sync.client import ClientConnection

from engine.config import RunConfig
from tests.launch.deployment import Deployment, get, open_socket, wait_for
from tests.launch.installation import free_port
from tests.on_postgres import PostgreSQL, find_programs

pytestmark = pytest.mark.slow

AWAY = 6.0  # seconds: longer than the workers' pause and the period of their scheduler
PAUSE = 0.1  # seconds between a reader's pages
STEP = 0.2  # seconds; four events each
RUNS = 2
ROWS = """
import json
from webapp.runs.models import Run
print(json.dumps([
    {
        "state": run.state, "attempt": run.attempt, "epoch": run.epoch, "last_seq": run.last_seq,
        "problems": run.record_problems.count(),
        "steps": list(run.steps.order_by("step").values_list("step", flat=True)),
        "seqs": sorted(
            seq for rows in (run.events, run.steps, run.groups) for seq in rows.values_list("seq", flat=True)
        ),
        "trajectories": run.trajectories.count(),
    }
    for run in Run.objects.order_by("queued_at")
]))
"""


class Readers:
    """Threads that ask for one page after the other, and count the answers by status."""

    def __init__(self, port: int, paths: list[str], cookie: str) -> None:
        self.port, self.cookie = port, cookie
        self.statuses: collections.Counter[int] = collections.Counter()
        self.done = threading.Event()
        self.threads = [threading.Thread(target=self._ask, args=(path,), daemon=True) for path in paths]

    def __enter__(self) -> Readers:
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self.done.set()
        for thread in self.threads:
            thread.join()

    def _ask(self, path: str) -> None:
        while not self.done.is_set():
            self.statuses[get(self.port, path, Cookie=self.cookie)[0]] += 1
            self.done.wait(PAUSE)


class Follower:
    """A socket that follows a run, and is opened again after what was received if it is closed, as a page does it."""

    def __init__(self, port: int, run: str, cookie: str) -> None:
        self.port, self.run, self.cookie = port, run, cookie
        self.seqs: list[int] = []
        self.done = threading.Event()
        self.thread = threading.Thread(target=self._follow, daemon=True)

    def __enter__(self) -> Follower:
        self.thread.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self.done.set()
        self.thread.join()

    def _follow(self) -> None:
        while not self.done.is_set():
            after = self.seqs[-1] if self.seqs else 0
            try:
                with open_socket(self.port, f"/ws/runs/{self.run}/?after={after}", self.cookie) as socket:
                    self._receive(socket)
            except (WebSocketException, OSError):
                time.sleep(0.5)

    def _receive(self, socket: ClientConnection) -> None:
        while not self.done.is_set():
            with contextlib.suppress(TimeoutError):
                message = json.loads(socket.recv(timeout=0.5))
                self.seqs += [event["seq"] for event in message.get("events", [])]


@pytest.mark.parametrize("pool", ["0", "20"], ids=["connection per thread", "pool"])
def test_no_event_is_lost_and_no_run_is_judged_when_the_database_is_restarted_under_load(
    tmp_path: Path, pool: str
) -> None:
    programs = find_programs()
    assert programs is not None, "PostgreSQL is not installed"
    port = free_port()
    settings = {"STARBOARD_DATABASE_POOL": pool, "STARBOARD_MAX_PARALLEL_RUNS": str(RUNS)}
    with PostgreSQL(programs) as database, Deployment(tmp_path, database.url, **settings) as one:
        one.start_redis()
        one.prepare()
        site = one.start_site(port)
        worker = one.start_worker(DJANGO_SETTINGS_MODULE="benchmarks.paced_settings")
        config = RunConfig.model_validate({"steps": 150, "description": f"step_seconds={STEP}"})
        runs = [one.submit(config, f"paced-{number}") for number in range(RUNS)]
        files = [tmp_path / "data" / "runs" / run / "events.jsonl" for run in runs]
        wait_for(lambda: all(file.exists() and len(lines(file)) > 20 for file in files), "engines that write")
        cookie = one.cookie()
        with Follower(port, runs[0], cookie) as follower:
            with Readers(port, ["/runs/", f"/runs/{runs[0]}/", "/api/v1/runs/"], cookie) as readers:
                wait_for(lambda: readers.statuses[200] > 5, "pages that are answered")
                for mode in ("fast", "immediate"):
                    outage(database, mode, port, readers)
            assert set(readers.statuses) == {200, 503}
            finished = "from webapp.runs.models import Run; print(Run.objects.filter(state='finished').count())"
            wait_for(lambda: one.ask(finished).endswith(str(RUNS)), "runs that have finished")
            last = lines(files[0])[-1]["seq"]
            wait_for(lambda: follower.seqs[-1] == last, "the end in an open page")
        assert follower.seqs == list(range(1, last + 1))
        assert site.poll() is None and worker.poll() is None
        for row, file in zip(json.loads(one.ask(ROWS).splitlines()[-1]), files, strict=True):
            recorded = [event["seq"] for event in lines(file)]
            assert recorded == list(range(1, len(recorded) + 1))
            assert (row["state"], row["attempt"], row["epoch"], row["problems"]) == ("finished", 1, 1, 0)
            assert (row["last_seq"], row["seqs"]) == (recorded[-1], recorded)
            assert row["steps"] == list(range(1, 151))
            assert row["trajectories"] == 150 * 6


def outage(database: PostgreSQL, mode: str, port: int, readers: Readers) -> None:
    database.stop(mode)
    refused = readers.statuses[503]
    time.sleep(AWAY)
    wait_for(lambda: readers.statuses[503] > refused, "a page that says so")  # a pool waits for a connection first
    assert get(port, "/healthz")[0] == 503
    database.start()
    wait_for(lambda: get(port, "/readyz")[0] == 200, "a site that is ready")
    answered = readers.statuses[200]
    wait_for(lambda: readers.statuses[200] > answered + 5, "pages that are answered")


def lines(file: Path) -> list[dict[str, int]]:
    return [json.loads(line) for line in file.read_text().splitlines()]
