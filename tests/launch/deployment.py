"""A deployment of separate processes, as on a team's machines: Redis, a database, any number of sites and workers."""

from __future__ import annotations

import os
import secrets
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

from websockets.sync import client as websockets
from websockets.typing import Origin

from engine.config import RunConfig
from tests import warm_python
from tests.launch.empty_database import put_empty_database
from tests.launch.installation import REPOSITORY, free_port
from tests.launch.questions import Questions
from tests.warm_python import Process
from workers.launch.redis_server import find_server

PATIENCE = 90.0
INHERITED = ("REDIS_URL", "DATABASE_URL", "RUNS_DIR", "DJANGO_SETTINGS_MODULE")


def wait_for(condition: Callable[[], Any], what: str, seconds: float = PATIENCE, *, every: float = 0.1) -> Any:
    deadline = time.monotonic() + seconds
    while not (value := condition()):
        assert time.monotonic() < deadline, f"not within {seconds:g} s: {what}"
        time.sleep(every)
    return value


class Deployment:
    """`with Deployment(tmp_path) as one:`; leaving the block ends all processes that it has started, and engines."""

    def __init__(self, directory: Path, database: str = "", **variables: str) -> None:
        self.directory = directory
        self.code = REPOSITORY  # what is started from now on runs it
        self.processes: list[Process] = []
        self.questions: Questions | None = None
        self.redis_port, password = free_port(), secrets.token_hex(8)
        self.redis_password = password
        self.environment = {name: value for name, value in os.environ.items() if name not in INHERITED} | {
            "STARBOARD_DATA_DIR": str(directory / "data"),
            "REDIS_URL": f"redis://:{password}@127.0.0.1:{self.redis_port}/0",
            "OMP_NUM_THREADS": "1",
            **({"DATABASE_URL": database} if database else {}),
            **variables,
        }

    def __enter__(self) -> Deployment:
        return self

    def __exit__(self, *exception: object) -> None:
        self._end_questions()
        for process in reversed(self.processes):
            process.kill()
            process.wait()
        self.end_engines()

    def start(self, name: str, *command: str, **variables: str) -> Process:
        environment = {**self.environment, **variables}
        process: Process
        with self.log(name).open("ab") as log:
            if command[0] == sys.executable and self.code == REPOSITORY:
                process = warm_python.start(command[1:], env=environment, stdout=log, stderr=log)
            else:
                process = subprocess.Popen(list(command), cwd=self.code, env=environment, stdout=log, stderr=log)
        self.processes.append(process)
        return process

    def start_redis(self) -> Process:
        options = ["--port", str(self.redis_port), "--bind", "127.0.0.1", "--save", ""]
        return self.start("redis", find_server(), *options, "--requirepass", self.redis_password)

    def start_worker(self, name: str = "worker", *arguments: str, **variables: str) -> Process:
        """Returns when it takes tasks."""
        before = self.output(name).count(" ready.")
        process = self.start(name, sys.executable, "-m", "workers", "-n", f"{name}@here", *arguments, **variables)
        wait_for(lambda: self.output(name).count(" ready.") > before or process.poll() is not None, "a worker")
        assert process.poll() is None, self.output(name)
        return process

    def start_site(self, port: int, **variables: str) -> Process:
        """Returns when it answers."""
        process = self.start(f"site {port}", sys.executable, "-m", "workers.launch.web", PORT=str(port), **variables)
        wait_for(lambda: process.poll() is not None or answers(port), "a site")
        assert process.poll() is None, self.output(f"site {port}")
        return process

    def prepare(self) -> None:
        """The tables, without a run."""
        if "DATABASE_URL" in self.environment:
            self.manage("migrate", "--skip-checks")
        else:
            put_empty_database(Path(self.environment["STARBOARD_DATA_DIR"]))

    def manage(self, *arguments: str, **variables: str) -> str:
        command, environment = ["manage.py", *arguments], {**self.environment, **variables}
        if self.code == REPOSITORY:
            done = warm_python.run(command, env=environment, timeout=600)
        else:
            done = subprocess.run(
                [sys.executable, *command],
                cwd=self.code,
                env=environment,
                capture_output=True,
                text=True,
                check=False,
                timeout=600,
            )
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    def ask(self, question: str) -> str:
        """What this Python code prints in a process of the deployment."""
        if self.questions is None or self.questions.code != self.code:
            self._end_questions()
            self.questions = Questions(self.code, self.environment)
        return self.questions.ask(question)

    def _end_questions(self) -> None:
        if self.questions is not None:
            self.questions.close()

    def submit(self, config: RunConfig, name: str) -> str:
        """The key of a run that waits for a worker."""
        path = self.directory / f"{name}.json"
        path.write_text(config.model_dump_json())
        return self.ask(
            "import json; from pathlib import Path; from webapp.runs.services import submit_run; "
            f"config = json.loads(Path({str(path)!r}).read_text()); "
            f"print(submit_run(owner=None, config=config, name={name!r}).pk)"
        ).splitlines()[-1]

    def cookie(self) -> str:
        """Of a new user who is signed in, for any site of the deployment."""
        return self.ask(
            "from django.conf import settings; from django.contrib.auth.models import User; "
            "from django.test import Client; "
            "client = Client(); client.force_login(User.objects.create_user('ada')); "
            "print(settings.SESSION_COOKIE_NAME + '=' + client.session.session_key)"
        ).splitlines()[-1]

    def log(self, name: str) -> Path:
        return self.directory / f"{name}.log"

    def output(self, name: str) -> str:
        return self.log(name).read_text() if self.log(name).exists() else ""

    def end_engines(self) -> None:
        """Those whose run directory is in ours."""
        for entry in Path("/proc").glob("[0-9]*/cmdline"):
            try:
                command = entry.read_text()
            except OSError:
                continue
            if str(self.directory) in command and "engine" in command:
                os.kill(int(entry.parent.name), signal.SIGKILL)


def get(port: int, path: str, **headers: str) -> tuple[int, str]:
    """The status and the text, whatever the status is."""
    connection = HTTPConnection("127.0.0.1", port, timeout=30)
    try:
        connection.request("GET", path, headers=headers)
        response = connection.getresponse()
        return response.status, response.read().decode()
    finally:
        connection.close()


def answers(port: int) -> bool:
    try:
        get(port, "/healthz")
    except OSError:
        return False
    return True


def open_socket(port: int, path: str, cookie: str) -> websockets.ClientConnection:
    return websockets.connect(
        f"ws://127.0.0.1:{port}{path}",
        origin=Origin(f"http://127.0.0.1:{port}"),
        additional_headers={"Cookie": cookie},
    )
