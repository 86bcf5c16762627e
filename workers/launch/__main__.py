"""`python -m workers.launch`: Redis, tables, a worker and the site, until Ctrl-C; engines end with a checkpoint.

This process loads neither the site nor the engine. It starts the others, restarts those that end by themselves or
hang, and stops them in order: the site, the worker, the engines, Redis. Interrupted runs continue at the next start.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import ClassVar

from django.core.exceptions import ImproperlyConfigured

from webapp import environ
from workers.launch import probes, redis_server
from workers.launch.children import Child
from workers.launch.health import answers
from workers.launch.liveness import ProbeTimes
from workers.launch.preflight import CannotStart, check_port, take_lock
from workers.launch.supported import why_unsupported
from workers.launch.watch import Probe, Watch

ROOT = Path(__file__).resolve().parents[2]
START_SECONDS = 120.0
STOP_SECONDS = 10.0
ENGINE_SECONDS = 30


class Launcher:
    """1. preflight checks  2. Redis  3. tables and examples  4. worker and site  5. watch  6. stop in order"""

    probe_times: ClassVar[ProbeTimes] = ProbeTimes()
    worker_command: ClassVar[list[str]] = [sys.executable, "-m", "workers"]
    web_command: ClassVar[list[str]] = [sys.executable, "-m", "workers.launch.web"]

    def __init__(self) -> None:
        self.data_dir = environ.path("STARBOARD_DATA_DIR", ROOT / "var")
        self.port = environ.integer("PORT", 8000, low=1, high=65535)
        self.bind = environ.text("STARBOARD_BIND", "127.0.0.1")
        self.environment = {"STARBOARD_DATA_DIR": str(self.data_dir), "PORT": str(self.port)}
        self.children: list[Child] = []
        self.signals = 0
        self.prepared = False

    def run(self) -> int:
        self.lock = take_lock(self.data_dir, self.port)
        check_port(self.bind, self.port)
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, self._note_signal)
        try:
            self._check_settings()
            self._start_redis()
            link = self._prepare()
            self.prepared = True
            redis_url = environ.text("REDIS_URL") or self.environment["REDIS_URL"]
            self._start("worker", self.worker_command, probes.worker(redis_url), writes_stacks=True)
            site = probes.site(self.port, self.bind, self.probe_times.timeout)
            web = self._start("web", self.web_command, site, writes_stacks=True)
            self._wait_until_ready(web)
            say(f"\n{self._welcome(link)}\n")
            say(f"Logs: {self.data_dir / 'logs'}. Ctrl-C stops everything; runs continue at the next start.")
            self._watch()
        finally:
            self._stop()
        return 0

    def _note_signal(self, number: int, frame: object) -> None:
        self.signals += 1
        if self.signals == 2:
            say("Stopping immediately.")

    def _check_settings(self) -> None:
        code = "import django; django.setup(); from webapp.security import exposure as e; e.refuse_careless_exposure()"
        self._manage("settings", [sys.executable, "-c", code])

    def _start_redis(self) -> None:
        if environ.text("REDIS_URL"):
            return
        path = redis_server.socket_path(self.data_dir)
        self.environment["REDIS_URL"] = f"unix://{path}"
        command = redis_server.command(redis_server.find_server(), path)
        redis = self._start("redis", command, probes.private_redis(path, self.probe_times.timeout))
        deadline = time.monotonic() + START_SECONDS
        while not path.exists():
            self._give_up_if_ended(redis, deadline)

    def _start(self, name: str, command: list[str], probe: Probe, *, writes_stacks: bool = False) -> Child:
        log = self.data_dir / "logs" / f"{name}.log"
        child = Child(name, command, log, self._child_environment(), Watch(probe, self.probe_times), writes_stacks)
        child.start()
        self.children.append(child)
        return child

    def _child_environment(self) -> dict[str, str]:
        return {**self.environment, "DJANGO_SETTINGS_MODULE": "webapp.settings", "PYTHONUNBUFFERED": "1"}

    def _manage(self, name: str, command: list[str]) -> str:
        """Runs a command to its end. Its error is shown without the stack trace."""
        environment = {**os.environ, **self._child_environment()}
        completed = subprocess.run(
            command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False, start_new_session=True
        )
        if completed.returncode != 0:
            lines = completed.stderr.strip().splitlines()
            starts = [at for at, line in enumerate(lines) if line and not line[0].isspace()]
            raise CannotStart(
                "\n".join(lines[starts[-1] :]) if starts and name == "settings" else completed.stderr.strip()
            )
        return completed.stdout.strip()

    def _wait_until_ready(self, web: Child) -> None:
        deadline = time.monotonic() + START_SECONDS
        while not answers(self.port, self.bind):
            self._give_up_if_ended(web, deadline)

    def _give_up_if_ended(self, child: Child, deadline: float) -> None:
        if self.signals:
            raise KeyboardInterrupt
        if child.has_ended() or time.monotonic() > deadline:
            raise CannotStart(f"{child.name} did not start. The end of {child.log}:\n{child.last_lines()}")
        time.sleep(0.1)

    def _prepare(self) -> str:
        """Returns a sign-in link, or nothing where they are off."""
        wanted = ["--link"] if environ.flag("STARBOARD_SIGN_IN_LINKS", True) else []
        return self._manage("prepare", [sys.executable, "-m", "workers.launch.prepare", *wanted])

    def _welcome(self, link: str) -> str:
        if not link:
            return f"Starboard is running at {self.bind}:{self.port}. Sign in with a password."
        return f"Starboard is running. Sign in with this link, which works once within ten minutes:\n\n    {link}"

    def _watch(self) -> None:
        while not self.signals:
            for child in self.children:
                self._look_after(child, time.monotonic())
            time.sleep(0.2)

    def _look_after(self, child: Child, now: float) -> None:
        """Whatever becomes of one process, the others and the engines go on."""
        if not child.has_ended():
            self._end_if_stuck(child, now)
        elif child.restart_at is None:
            say(f"{child.name} ended unexpectedly and restarts in {child.plan_restart(now):g} s; see {child.log}.")
        elif now >= child.restart_at and not self.signals:
            child.start()

    def _end_if_stuck(self, child: Child, now: float) -> None:
        if child.killed_at is not None:
            if now >= child.killed_at:
                child.kill()
        elif child.is_frozen(now):
            say(f"{child.name} has been suspended for too long and is ended.")
            child.kill()
        elif child.hangs(now):
            where = f" Where it hung: {child.log}." if child.writes_stacks else ""
            say(f"{child.name} is alive but has not answered for too long, and is ended.{where}")
            child.kill_soon(now)

    def _stop(self) -> None:
        say("Stopping: the site, the worker, the engines." if self.prepared else "Stopping.")
        by_name = {child.name: child for child in self.children}
        for name in ("web", "worker"):
            if name in by_name:
                by_name[name].stop(0.5 if self.signals > 1 else STOP_SECONDS)
        if self.prepared:
            self._suspend_engines()
        if "redis" in by_name:
            by_name["redis"].stop(STOP_SECONDS)

    def _suspend_engines(self) -> None:
        seconds = 1 if self.signals > 1 else ENGINE_SECONDS
        try:
            output = self._manage("suspend", [sys.executable, "manage.py", "suspend_runs", "--seconds", str(seconds)])
        except CannotStart as problem:
            say(f"Engines may still be running: {problem}")
            return
        say(output.splitlines()[-1] if output else "")


def say(line: str) -> None:
    """A closed terminal or pipe must not prevent an orderly stop."""
    with suppress(OSError):
        sys.stdout.write(f"{line}\n")
        sys.stdout.flush()


def main() -> int:
    if problem := why_unsupported():
        sys.stderr.write(f"{problem}\n")
        return 1
    try:
        return Launcher().run()
    except (CannotStart, ImproperlyConfigured) as problem:
        sys.stderr.write(f"{problem}\n")
        return 1
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(main())
