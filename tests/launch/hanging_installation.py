"""`python -m tests.launch.hanging_installation`: `make run` with short probe times and paced engines. Its site or its
worker hangs when the file `hang-web` or `hang-worker` appears in the data directory: the event loop of the site, or the
loop in which the worker takes tasks, waits for a lock that it holds itself.
"""

from __future__ import annotations

import os
import runpy
import sys
import threading
from pathlib import Path
from typing import ClassVar

from workers.launch.__main__ import Launcher
from workers.launch.liveness import ProbeTimes

MODULE = "tests.launch.hanging_installation"


class ImpatientLauncher(Launcher):
    probe_times: ClassVar[ProbeTimes] = ProbeTimes(unanswered=8.0, startup=90.0, interval=0.5, timeout=2.0)
    web_command: ClassVar[list[str]] = [sys.executable, "-m", MODULE, "web"]
    worker_command: ClassVar[list[str]] = [sys.executable, "-m", MODULE, "worker"]

    def _child_environment(self) -> dict[str, str]:
        return {**super()._child_environment(), "DJANGO_SETTINGS_MODULE": "benchmarks.paced_settings"}


def hang_if_asked(name: str) -> None:
    file = Path(os.environ["STARBOARD_DATA_DIR"]) / f"hang-{name}"
    if file.exists():
        file.unlink()
        wait_for_itself()


def wait_for_itself() -> None:
    lock = threading.Lock()
    with lock:
        lock.acquire()


def run_web() -> int:
    from workers.launch import web

    class HangingConnection(web.LimitedConnection):
        def data_received(self, data: bytes) -> None:
            hang_if_asked("web")
            super().data_received(data)

    web.LimitedConnection = HangingConnection  # type: ignore[misc]
    return web.main()


def run_worker() -> int:
    import django
    from celery.signals import task_received

    django.setup()
    import workers.presence
    from webapp.monitoring import presence

    workers.presence.LONGEST_ROUND = 2.0
    presence.ANNOUNCE_SECONDS, presence.EXPIRY_SECONDS = 0.5, 2

    @task_received.connect(weak=False)
    def receive(**_: object) -> None:
        hang_if_asked("worker")

    del sys.argv[1:]  # the rest would be options of the worker
    runpy.run_module("workers", run_name="__main__")
    return 0


if __name__ == "__main__":
    sys.exit({"web": run_web, "worker": run_worker, "": ImpatientLauncher().run}["".join(sys.argv[1:])]())
