"""Three runs at once under random faults, and whether anything was lost when all is over.

Site, two workers and Redis are real processes of their own, on loopback; engines are the stand-in of the tests, which
trains nothing and keeps to the protocol of run directories. Every second something happens: a run is launched, paused,
stopped, resumed or begun again; a worker, an engine, its keeper, the site or Redis is killed; a worker or an engine is
suspended; Redis is emptied; with `--postgres`, the database is stopped or killed too. What was taken away starts again
within some seconds, as under a launcher. After that all runs are stopped, and then of each run

* every row is what its file says: rows read again from the file (`manage.py rebuild_run`) are those that were there,
* no process is left, no lock on its directory is held, and no worker holds its lease.

    python -m benchmarks.chaos [--seconds N] [--seed N] [--postgres]

Exit status 0 if nothing is wrong; else it names what is, and keeps its directory, with the logs.
"""

from __future__ import annotations

import argparse
import collections
import fcntl
import json
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.databases import add_option, database, vendor
from tests.launch.deployment import Deployment, answers
from tests.launch.installation import free_port
from tests.on_postgres import PostgreSQL
from tests.warm_python import Process

SETTINGS = "benchmarks.paced_settings"
SLOTS = 3
STEPS = 400
PAUSE = 1.0  # seconds between two faults
AWAY = 4.0  # seconds, at most, that something is suspended or missing
PATIENCE = 180.0  # seconds for all runs to end


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=60.0, help="of faults")
    parser.add_argument("--seed", type=int, default=1, help="of the faults")
    parser.add_argument("--patience", type=float, default=PATIENCE, help="seconds for all runs to end afterwards")
    add_option(parser)
    options = parser.parse_args()
    scratch, wrong = Path(tempfile.mkdtemp()), ["It did not end."]
    slots = {"STARBOARD_MAX_PARALLEL_RUNS": str(SLOTS)}
    try:
        with database(options.postgres) as server, Deployment(scratch, server.url if server else "", **slots) as one:
            one.start_redis()
            one.prepare()
            set_up_django(one)
            chaos = Chaos(one, random.Random(options.seed), server)
            chaos.start()
            chaos.run(options.seconds)
            chaos.calm_down(options.patience)
            counts, wrong = chaos.counts(), chaos.what_is_wrong()
    finally:
        if not wrong:
            shutil.rmtree(scratch, ignore_errors=True)
    result = {"database": vendor(), "seconds": options.seconds, "seed": options.seed, **counts, "wrong": wrong}
    sys.stdout.write(json.dumps({"benchmark": "chaos", **result, **({"kept": str(scratch)} if wrong else {})}) + "\n")
    return 1 if wrong else 0


def set_up_django(one: Deployment) -> None:
    """This process asks the same database as the site, and requests things as the site does."""
    os.environ |= {**one.environment, "DJANGO_SETTINGS_MODULE": SETTINGS}
    import django

    django.setup()


class Chaos:
    def __init__(self, one: Deployment, choice: random.Random, server: PostgreSQL | None = None) -> None:
        self.one, self.choice, self.server = one, choice, server
        self.port = free_port()
        self.parts: dict[str, Process] = {}
        self.again: list[tuple[float, Callable[[], object]]] = []  # when what was taken away comes back
        self.done: collections.Counter[str] = collections.Counter()
        self.refused = 0  # requests while the database was locked

    # --- the parts ---

    def start(self) -> None:
        self.parts = {"redis": self.one.processes[-1]}
        for name in ("site", "worker 0", "worker 1"):
            self.begin(name)
        deadline = time.monotonic() + PATIENCE
        while not answers(self.port):
            assert time.monotonic() < deadline, self.one.output("site")
            time.sleep(0.1)

    def begin(self, name: str) -> None:
        """Starts it, and does not wait for it."""
        if name == "redis":
            self.parts[name] = self.one.start_redis()
        elif name == "site":
            command = [sys.executable, "-m", "workers.launch.web"]
            self.parts[name] = self.one.start(name, *command, PORT=str(self.port))
        else:
            command = [sys.executable, "-m", "workers", "-n", f"{name.replace(' ', '')}@here"]
            self.parts[name] = self.one.start(name, *command, DJANGO_SETTINGS_MODULE=SETTINGS)

    def is_there(self, name: str) -> bool:
        return self.parts[name].poll() is None

    # --- the faults ---

    def run(self, seconds: float) -> None:
        faults = {
            self.launch: 4, self.pause: 3, self.resume: 5, self.stop: 2, self.kill_engine: 3, self.suspend_engine: 1,
            self.kill_keeper: 1, self.kill_worker: 2, self.suspend_worker: 1, self.kill_site: 1, self.kill_redis: 1,
            self.empty_redis: 1, self.stop_database: 1 if self.server else 0,
        }  # fmt: skip
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            fault = self.choice.choices(list(faults), list(faults.values()))[0]
            if self.ask(fault):
                self.done[fault.__name__.replace("_", " ")] += 1
            self.bring_back()
            time.sleep(PAUSE)

    def ask(self, act: Callable[[], Any]) -> Any:
        """None while the database is away, or locked by a worker that was suspended within a write: a site would answer
        503."""
        from django.db import InterfaceError, OperationalError, connection

        try:
            return act()
        except (OperationalError, InterfaceError):
            self.refused += 1
            connection.close()
            return None

    def later(self, act: Callable[[], object]) -> None:
        self.again.append((time.monotonic() + self.choice.uniform(0.0, AWAY), act))

    def bring_back(self, *, at_once: bool = False) -> None:
        due = [one for one in self.again if at_once or one[0] <= time.monotonic()]
        self.again = [one for one in self.again if one not in due]
        for _, act in due:
            act()

    def launch(self) -> bool:
        from engine.config import RunConfig
        from webapp.runs.services import submit_run

        if len(self.live()) >= SLOTS:
            return False
        behaviour = f"step_seconds={self.choice.uniform(0.05, 0.3):.2f}"
        given = {"steps": STEPS, "description": behaviour, "checkpoint": {"restarts": 50}}
        submit_run(owner=None, config=RunConfig.model_validate(given))
        return True

    def pause(self) -> bool:
        from webapp.runs.services import request_pause

        return any(request_pause(run) for run in self.one_of(self.live()))

    def resume(self) -> bool:
        from webapp.runs.services import request_resume

        return any(request_resume(run) for run in self.one_of(self.all_runs()))

    def stop(self) -> bool:
        from webapp.runs.services import request_stop

        return any(request_stop(run) for run in self.one_of(self.live()))

    def kill_engine(self) -> bool:
        return self.signal_engine(signal.SIGKILL)

    def suspend_engine(self) -> bool:
        return self.signal_engine(signal.SIGSTOP)

    def signal_engine(self, number: signal.Signals) -> bool:
        from workers.process import processes_with_cookie, send_signal

        for run in self.one_of(self.live()):
            for identity in processes_with_cookie(run.process.get("cookie", "none")):
                send_signal(identity, number)
                if number == signal.SIGSTOP:
                    self.later(partial(send_signal, identity, signal.SIGCONT))
                return True
        return False

    def kill_keeper(self) -> bool:
        from workers.process import keepers_of, send_signal

        for run in self.one_of(self.live()):
            for identity in keepers_of(run.process.get("cookie", "none")):
                return send_signal(identity, signal.SIGKILL)
        return False

    def kill_worker(self) -> bool:
        return self.kill(self.choice.choice(["worker 0", "worker 1"]))

    def kill_site(self) -> bool:
        return self.kill("site")

    def kill_redis(self) -> bool:
        return self.kill("redis")

    def kill(self, name: str) -> bool:
        if not self.is_there(name):
            return False
        self.parts[name].kill()
        self.parts[name].wait()
        self.later(lambda: self.begin(name))
        return True

    def suspend_worker(self) -> bool:
        name = self.choice.choice(["worker 0", "worker 1"])
        if not self.is_there(name):
            return False
        process = self.parts[name]
        process.send_signal(signal.SIGSTOP)
        self.later(lambda: process.send_signal(signal.SIGCONT))
        return True

    def empty_redis(self) -> bool:
        import redis

        try:
            redis.Redis.from_url(self.one.environment["REDIS_URL"], socket_timeout=1).flushall()
        except redis.RedisError:
            return False
        return True

    def stop_database(self) -> bool:
        if self.server is None or not self.server.runs:
            return False
        self.server.stop(self.choice.choice(["fast", "immediate"]))
        self.later(self.server.start)
        return True

    # --- the runs ---

    def all_runs(self) -> list[Any]:
        from webapp.runs.models import Run

        return list(Run.objects.order_by("queued_at"))

    def live(self) -> list[Any]:
        from webapp.runs.states import TERMINAL

        return [run for run in self.all_runs() if run.state not in TERMINAL]

    def one_of(self, runs: list[Any]) -> list[Any]:
        return [self.choice.choice(runs)] if runs else []

    # --- the end ---

    def calm_down(self, patience: float) -> None:
        """Everything is there again, and all runs are stopped."""
        from webapp.runs.models import Run
        from webapp.runs.services import request_stop

        self.bring_back(at_once=True)
        for name in self.parts:
            if not self.is_there(name):
                self.begin(name)
        deadline = time.monotonic() + patience
        stopped: set[tuple[str, int]] = set()
        while (live := self.ask(self.live) or []) or self.ask(self.held):
            for run in live:
                if (run.pk, run.attempt) not in stopped and self.ask(partial(request_stop, run)):
                    stopped.add((run.pk, run.attempt))
            if time.monotonic() > deadline:
                return
            time.sleep(0.5)
        assert not Run.objects.filter(lease_expires__isnull=False).exists()

    def held(self) -> list[Any]:
        return [run for run in self.all_runs() if run.lease_expires is not None]

    def what_is_wrong(self) -> list[str]:
        return [
            *(f"{run.name} is still {run.state}: {run.state_reason}" for run in self.live()),
            *(f"{run.name} is held by {run.lease_holder}" for run in self.held()),
            *(problem for run in self.all_runs() for problem in wrong_with(run)),
        ]

    def counts(self) -> dict[str, Any]:
        runs = self.all_runs()
        states = collections.Counter(run.state for run in runs)
        recorded = sum(run.last_seq for run in runs)
        attempts = sum(run.attempt for run in runs)
        return {
            "runs": len(runs), "attempts": attempts, "events": recorded, "states": dict(states),
            "faults": dict(self.done), "refused": self.refused,
        }  # fmt: skip


def wrong_with(run: Any) -> list[str]:
    from tests.workers.bridged_run import rows_of
    from workers.process import keepers_of, processes_with_cookie
    from workers.rebuilding import rebuild

    cookie = run.process.get("cookie", "none")
    left = [*processes_with_cookie(cookie), *keepers_of(cookie)]
    found = [f"{run.name} has left the process {identity.pid}" for identity in left]
    if not (run.directory / "events.jsonl").exists():
        return [*found, *([f"the file of {run.name} is gone, with {run.last_seq} events"] if run.last_seq else [])]
    with (run.directory / "lock").open("a") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            found.append(f"the directory of {run.name} is locked")
    before = rows_of(run)
    rebuild(run.pk)
    after = rows_of(run)
    return found + [
        f"the {table} of {run.name} are not those of its file: {difference(before[table], after[table])}"
        for table in before
        if before[table] != after[table]
    ]


def difference(rows: Any, of_file: Any) -> str:
    """The first that only one of them has; of the run itself, its fields."""
    if isinstance(rows, dict):
        return ", ".join(
            f"{name} {rows[name]!r} and not {of_file[name]!r}" for name in rows if rows[name] != of_file[name]
        )
    only = [
        next((repr(row) for row in some if row not in others), "")
        for some, others in ((rows, of_file), (of_file, rows))
    ]
    return f"{len(rows)} rows and not {len(of_file)}; only in rows {only[0][:400]}; only in the file {only[1][:400]}"


if __name__ == "__main__":
    sys.exit(main())
