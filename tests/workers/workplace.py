"""Builders for worker tests: runs, worker processes, and waiting for conditions."""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import redis
from django.db import OperationalError, connection, transaction

from engine.config import RunConfig
from tests import warm_python
from tests.warm_python import Process
from webapp.runs.models import Run
from webapp.runs.services import submit_run
from workers.app import app
from workers.process import processes_with_cookie, read_stat

REPOSITORY = Path(__file__).resolve().parents[2]
STAND_IN = [sys.executable, str(REPOSITORY / "tests/workers/stand_in_engine.py")]
PATIENCE = 30.0


def wait_for(condition: Callable[[], Any], *, seconds: float = PATIENCE, what: str = "") -> Any:
    """The condition's value once it is true; fails with `what` after `seconds`."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if value := condition():
            return value
        time.sleep(0.05)
    raise AssertionError(f"not within {seconds} s: {what or condition}")


def behaviour(**words: float) -> str:
    """The behaviour of the stand-in engine."""
    return " ".join(f"{key}={value}" for key, value in words.items())


def config(*, steps: int = 6, restarts: int = 3, **words: float) -> RunConfig:
    return RunConfig.model_validate(
        {"steps": steps, "description": behaviour(**words), "checkpoint": {"restarts": restarts}}
    )


@dataclass
class Workplace:
    directory: Path
    redis_url: str
    slots: int = 1
    preemption: bool = False
    limits: dict[str, Any] = field(default_factory=dict)
    engine: list[str] = field(default_factory=lambda: list(STAND_IN))
    more: dict[str, Any] = field(default_factory=dict)  # settings
    workers: list[Process] = field(default_factory=list)

    def settings(self) -> dict[str, Any]:
        return {
            "RUNS_DIR": str(self.directory / "runs"),
            "REDIS_URL": self.redis_url,
            "CHANNEL_LAYERS": {
                "default": {
                    "BACKEND": "channels_redis.core.RedisChannelLayer",
                    "CONFIG": {"hosts": [{"address": self.redis_url, "socket_timeout": 30}]},
                }
            },
            "STARBOARD_ENGINE_COMMAND": self.engine,
            "STARBOARD_MAX_PARALLEL_RUNS": self.slots,
            "STARBOARD_PREEMPTION": self.preemption,
            "STARBOARD_LIMITS": self.limits,
            **self.more,
        }

    def submit(self, **options: Any) -> Run:
        name = options.pop("name", "")
        return submit_run(owner=None, config=config(**options), name=name)

    def start_worker(self, module: str = "workers", **variables: str) -> Process:
        """Starts a worker process, or a module that starts one; returns when it is ready."""
        given = {**self.settings(), "database": str(connection.settings_dict["NAME"])}
        environment = {
            **os.environ,
            "DJANGO_SETTINGS_MODULE": "tests.workers.settings",
            "STARBOARD_TEST_SETTINGS": json.dumps(given),
            **variables,
        }
        log = self.directory / f"worker_{len(self.workers)}.log"
        with log.open("wb") as file:
            command = ["-m", module, "-n", f"w{len(self.workers)}@here"]
            worker = warm_python.start(command, env=environment, stdout=file, stderr=file)
        self.workers.append(worker)
        wait_for(
            lambda: b" ready." in log.read_bytes() or worker.poll() is not None,
            seconds=3 * PATIENCE,  # three that start at once from a cold disk take longer than whatever they do later
            what="a worker that is ready",
        )
        assert worker.poll() is None, log.read_text()
        return worker

    def kill_worker(self, worker: Process) -> None:
        worker.kill()
        worker.wait()

    def suspend_worker(self, worker: Process) -> None:
        """Suspends it between writes: within one it would hold SQLite's only lock against all others."""
        while True:
            worker.send_signal(signal.SIGSTOP)
            wait_for(lambda: is_suspended(worker), what="a stop")
            if takes_writes():
                return
            worker.send_signal(signal.SIGCONT)
            time.sleep(0.05)

    def flush_redis(self) -> None:
        redis.Redis.from_url(self.redis_url).flushall()

    def close(self) -> None:
        for worker in self.workers:
            if worker.poll() is None:
                worker.kill()
                worker.wait()
        for run in Run.objects.all():
            for identity in processes_with_cookie(run.process.get("cookie", "none")):
                os.kill(identity.pid, signal.SIGKILL)


def is_suspended(process: Process) -> bool:
    stat = read_stat(process.pid)
    return stat is not None and stat.state == "T"


def takes_writes() -> bool:
    """False while another process is in the middle of a write that blocks others."""
    try:
        with impatient_writes(), transaction.atomic():
            list(Run.objects.select_for_update(nowait=True))
    except OperationalError:
        return False
    return True


@contextmanager
def impatient_writes() -> Iterator[None]:
    """SQLite waits for a lock as long as its connection allows; PostgreSQL has the keyword `nowait`."""
    if connection.vendor != "sqlite":
        yield
        return
    with connection.cursor() as cursor:
        cursor.execute("PRAGMA busy_timeout")
        patience = cursor.fetchone()[0]
        cursor.execute("PRAGMA busy_timeout = 200")
        try:
            yield
        finally:
            cursor.execute(f"PRAGMA busy_timeout = {patience}")


def forget_connections() -> None:
    """Celery keeps its connections to the broker; the next one uses the current settings."""
    app.close()
    app.amqp._producer_pool = None


def wait_for_state(run: Run, *states: str, seconds: float = PATIENCE) -> Run:
    def reached() -> bool:
        run.refresh_from_db()
        return run.state in states

    try:
        wait_for(reached, seconds=seconds)
    except AssertionError:
        raise AssertionError(f"{run.name} is {run.state} ({run.state_reason}), not {' or '.join(states)}") from None
    return run


def events_in_file(run: Run) -> list[dict[str, Any]]:
    text = (run.directory / "events.jsonl").read_text()
    return [json.loads(line) for line in text.splitlines()]


def seqs_in_rows(run: Run) -> list[int]:
    """A verdict has a row only where its label begins: `events_in_file` has more of them."""
    return sorted(seq for rows in (run.events, run.steps, run.groups) for seq in rows.values_list("seq", flat=True))
