"""`python -m tests.warm_template DESCRIPTOR`: has imported what a worker, a site and `manage.py` import of others, and
forks a process for each request on a socket. What depends on settings is imported after the fork, with the settings of
the new process.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import runpy
import signal
import socket
import sys
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from engine.quick_imports import quick_imports

LARGEST_REQUEST = 1 << 17
PRELOADED = (
    "celery.apps.worker",
    "celery.beat",
    "celery.bin.celery",
    "celery.concurrency.thread",
    "celery.fixups.django",
    "celery.worker.consumer",
    "django.core.management.commands.shell",
    "django.core.serializers",
    "django.db.backends.postgresql.base",
    "django.db.backends.sqlite3.base",
    "django.db.migrations.executor",
    "django.urls",
    "django.utils.log",
    "django.views.debug",
    "engine.cluster.checks",
    "engine.config",
    "engine.environments.feasibility",
    "engine.foreign.import_command",
    "engine.sweeps.catalogue",
    "engine.sweeps.plan",
    "engine.suites.resolve",
    "engine.suites.store",
    "engine.what_if.events",
    "jwt",
    "kombu.transport.redis",
    "markdown_it",
    "prometheus_client",
    "pythonjsonlogger",
    "redis.asyncio",
    "requests",
    "uvicorn.lifespan.on",
    "uvicorn.loops.auto",
    "uvicorn.protocols.http.auto",
    "uvicorn.protocols.websockets.websockets_sansio_impl",
)


@dataclass(frozen=True, slots=True)
class Request:
    """What a new process shall run, and with which standard streams."""

    arguments: list[str]  # as after `python`
    environment: dict[str, str]
    directory: str
    streams: list[int]


class Template:
    def __init__(self, control: socket.socket) -> None:
        self.control = control
        self.reports: dict[int, int] = {}  # for each child the pipe for its exit status
        signal.signal(signal.SIGCHLD, self._report_ended)

    def serve(self) -> Request | None:
        """In each child its request; in the template None, when nobody can send another."""
        while True:
            message, descriptors, *_ = socket.recv_fds(self.control, LARGEST_REQUEST, 4)
            if not message:
                return None
            *streams, report = descriptors
            signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGCHLD})  # until the child is known
            if (child := os.fork()) == 0:
                self._forget(report)
                return Request(**json.loads(message), streams=streams)
            for stream in streams:
                os.close(stream)
            self.reports[child] = report
            os.write(report, b"%d\n" % child)
            signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGCHLD})

    def _forget(self, report: int) -> None:
        """What a child has of the template."""
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGCHLD})
        self.control.close()
        for pipe in (report, *self.reports.values()):
            os.close(pipe)

    def _report_ended(self, *_: Any) -> None:
        with suppress(ChildProcessError):
            while True:
                child, status = os.waitpid(-1, os.WNOHANG)
                if not child:
                    return
                report = self.reports.pop(child)
                with suppress(BrokenPipeError):
                    os.write(report, b"%d\n" % os.waitstatus_to_exitcode(status))
                os.close(report)


def run(request: Request) -> None:
    """As `python` with these arguments."""
    for number, stream in enumerate(request.streams):
        os.dup2(stream, number)
        os.close(stream)
    os.chdir(request.directory)
    os.environ.clear()
    os.environ.update(request.environment)
    if request.arguments[0] == "-m":
        sys.path[0] = request.directory
        sys.argv = request.arguments[1:]
        runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
    else:
        sys.argv = request.arguments
        runpy.run_path(sys.argv[0], run_name="__main__")


def main() -> None:
    control = socket.socket(fileno=int(sys.argv[1]))
    with quick_imports():
        for name in PRELOADED:
            importlib.import_module(name)
    gc.collect()
    gc.freeze()
    if (request := Template(control).serve()) is not None:
        run(request)


if __name__ == "__main__":
    main()
