"""A Starboard in a directory of the test's own, started like `make run` without installing packages."""

from __future__ import annotations

import os
import signal
import socket
import sqlite3
import subprocess
import sys
import time
import urllib.request
from http.client import HTTPResponse
from pathlib import Path

import psutil

REPOSITORY = Path(__file__).resolve().parents[2]
START_SECONDS = 90.0


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class Installation:
    """`with Installation(tmp_path) as one:` runs it; leaving the block stops it like Ctrl-C."""

    def __init__(
        self, data_dir: Path, port: int | None = None, *, threads: int | None = 1, module: str = "workers.launch"
    ) -> None:
        self.data_dir = data_dir
        self.module = module
        self.threads = threads
        self.port = port or free_port()
        self.output_file = data_dir.with_suffix(".out")

    def __enter__(self) -> Installation:
        self.start()
        return self

    def start(self) -> None:
        """Returns when it is ready."""
        with self.output_file.open("wb") as output:
            self.process = subprocess.Popen(
                [sys.executable, "-m", self.module],
                cwd=REPOSITORY,
                env=self.environment(),
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        try:
            self._wait_for("Ctrl-C stops everything")
        except BaseException:
            self.stop()
            raise

    def __exit__(self, *exception: object) -> None:
        self.stop()

    def environment(self) -> dict[str, str]:
        inherited = {name: value for name, value in os.environ.items() if name not in ("REDIS_URL", "DATABASE_URL")}
        threads = {"OMP_NUM_THREADS": str(self.threads)} if self.threads else {}
        return {**inherited, "STARBOARD_DATA_DIR": str(self.data_dir), "PORT": str(self.port), **threads}

    def output(self) -> str:
        return self.output_file.read_text()

    def link(self) -> str:
        return next(word for word in self.output().split() if "/accounts/sign-in/?token=" in word)

    def children(self) -> dict[str, int]:
        """The pids of the launcher's processes, by name."""
        names = {"redis": "redis", "workers.launch.web": "web", "-m\0workers\0": "worker"}
        names |= {f"{self.module}\0web": "web", f"{self.module}\0worker": "worker"}
        names["celeryd"] = "worker"  # the title set by setproctitle, if it is installed for vLLM
        found: dict[str, int] = {}
        for entry in Path("/proc").glob("[0-9]*"):
            try:
                parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
                command = (entry / "cmdline").read_text()
            except (OSError, ValueError):
                continue
            if parent == self.process.pid:
                found |= {name: int(entry.name) for sign, name in names.items() if sign in command}
        return found

    def get(self, path: str) -> HTTPResponse:
        answer: HTTPResponse = urllib.request.urlopen(f"http://127.0.0.1:{self.port}{path}", timeout=10)
        return answer

    def try_another(self, data_dir: Path, port: int) -> subprocess.CompletedProcess[str]:
        """A second start while this one is running."""
        return subprocess.run(
            [sys.executable, "-m", "workers.launch"],
            cwd=REPOSITORY,
            env={**self.environment(), "STARBOARD_DATA_DIR": str(data_dir), "PORT": str(port)},
            capture_output=True,
            text=True,
            timeout=START_SECONDS,
            check=False,
        )

    def stop(self) -> int:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
        return self.process.wait(60)

    def pause_training(self) -> None:
        """The engine of the starter run stays, and leaves the processors to the tests."""
        with sqlite3.connect(self.data_dir / "starboard.sqlite3", timeout=30) as database:
            database.execute("update runs_run set requested = 'pause'")

    def engines(self) -> list[int]:
        """The pids of all processes that name the data directory, other than the launcher's children."""
        of_launcher = {self.process.pid, *self.children().values()}
        named = psutil.process_iter(["cmdline"])
        found = [one.pid for one in named if str(self.data_dir / "runs") in " ".join(one.info["cmdline"] or [])]
        return [pid for pid in found if pid not in of_launcher]

    def end_engines(self) -> None:
        subprocess.run(
            [sys.executable, "manage.py", "suspend_runs", "--seconds", "1"],
            cwd=REPOSITORY,
            env=self.environment(),
            timeout=START_SECONDS,
            check=True,
        )

    def _wait_for(self, sign: str) -> None:
        deadline = time.monotonic() + START_SECONDS
        while sign not in self.output():
            assert self.process.poll() is None, self.output()
            assert time.monotonic() < deadline, self.output()
            time.sleep(0.1)
