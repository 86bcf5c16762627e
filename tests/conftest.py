"""How the suite is split: tests with a browser or Ray count as slow; which tests stay together when several processes
run them. And one Ray for the tests that need no Ray of their own: to start one takes longer than most of what they do.
"""

from __future__ import annotations

import gc
import os
import signal
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.contrib.contenttypes.management import create_contenttypes
from django.db import connection
from django.db.models.signals import post_migrate
from servestatic.middleware import ServeStaticMiddleware
from xdist.remote import Producer
from xdist.scheduler import LoadFileScheduling

from engine.quick_imports import quick_imports
from tests.e2e.chromium import end_shared_browser
from tests.migrated_once import migrate_once

os.environ.setdefault("OMP_NUM_THREADS", "1")  # several test processes share the cores

TESTS = Path(__file__).parent
PROCESSORS = 8  # more than any run of these tests has actors on Ray
# each starts Ray, vLLM or both, which would starve a second of its kind
ALONE = ("tests/engine/cluster/", "tests/engine/policies/test_vllm", "tests/benchmarks/test_gpu_scripts.py")
# these start Ray too, but wait for most of their time until something that is gone or hangs is given up
PATIENT = (
    "tests/engine/cluster/test_nodes.py", "tests/engine/cluster/test_hangs.py", "tests/workers/test_ray_restarts.py",
)  # fmt: skip
WITHOUT_RAY = tuple(
    f"tests/engine/cluster/test_{name}.py"
    for name in ("actor_classes", "alternatives", "gpu_use", "memory", "real_presets", "resources")
)
# these fork a process that imports torch and transformers once in each process that runs tests
FORKING = (
    "tests/engine/training/test_background_saves.py", "tests/engine/training/test_failing_environments.py",
    "tests/engine/training/test_materialize.py",
    "tests/engine/training/test_shard",  # of several learners
)  # fmt: skip
WITH_PROCESSES = ("tests/workers/", "tests/client/", "tests/launch/")  # of which a file takes up to a minute

# A browser on a machine that is busy with other tests may be too late for a click. What fails twice is a fault; what
# failed once is listed at the end.
AGAIN = pytest.mark.flaky(reruns=1)


def is_alone(nodeid: str) -> bool:
    return nodeid.startswith(ALONE) and not nodeid.startswith((*PATIENT, *WITHOUT_RAY))


class FilesTogether(LoadFileScheduling):
    """A file's tests run in one process, in order; those that want the machine for themselves all run in the same, and
    so do those that fork."""

    def _split_scope(self, nodeid: str) -> str:
        if is_alone(nodeid):
            return "alone"
        return "forking" if nodeid.startswith(FORKING) else super()._split_scope(nodeid)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> FilesTogether:
    return FilesTogether(config, log)


def has_database(item: pytest.Item) -> bool:
    names = getattr(item, "fixturenames", ())
    return item.get_closest_marker("django_db") is not None or "db" in names or "transactional_db" in names


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if "ray_address" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.slow)
        if item.path.is_relative_to(TESTS / "e2e"):
            item.add_marker(pytest.mark.slow)
            item.add_marker(AGAIN)
        if not has_database(item) and item.get_closest_marker("slow") is None:
            item.add_marker(pytest.mark.unit)
    # the longest files first, so that all processes end at about the same time
    slow = {item.path for item in items if item.get_closest_marker("slow") is not None}
    items.sort(
        key=lambda item: (
            not is_alone(item.nodeid),
            not item.nodeid.startswith(PATIENT),
            item.path not in slow,
            not item.nodeid.startswith(WITH_PROCESSES),
        )
    )


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    with quick_imports():
        return (yield)


@pytest.hookimpl(trylast=True)
def pytest_configure() -> None:
    # a slow hash protects real passwords; these are none
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
    ServeStaticMiddleware.add_files_from_finders = add_static_files
    # permissions, which the site does not use, would be written again whenever a test empties the database
    post_migrate.disconnect(dispatch_uid="django.contrib.auth.management.create_permissions")
    post_migrate.disconnect(create_contenttypes)
    if connection.vendor == "postgresql":
        type(connection.ops).sql_flush = delete_rows


def delete_rows(operations: Any, style: Any, tables: list[str], **options: bool) -> list[str]:
    """What empties the database after a test: to truncate fifty tables takes PostgreSQL forty times as long."""
    return [f"DELETE FROM {operations.quote_name(table)}" for table in tables]


find_static_files = ServeStaticMiddleware.add_files_from_finders
static_files: dict[str, Any] = {}


def add_static_files(middleware: ServeStaticMiddleware) -> None:
    """Each test client has a middleware of its own, but only the first in a process looks through the static files."""
    if not static_files:
        find_static_files(middleware)
        static_files.update(middleware.files)
    middleware.files.update(static_files)


def pytest_unconfigure() -> None:
    end_shared_browser()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """An engine that a test runs in this process sets signal handlers, which the next test must not have. vLLM ends
    what `pytest_collection` began: the collector would go through all imported objects again, a second each time."""
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    done = yield
    for number, handler in before.items():
        if handler is not None:  # None is a handler of C code, which cannot be set from here
            signal.signal(number, handler)
    if "vllm" in item.nodeid:
        gc.freeze()
    return done


@pytest.fixture(scope="session")
def django_db_modify_db_settings(
    django_db_modify_db_settings_parallel_suffix: None, tmp_path_factory: pytest.TempPathFactory
) -> None:
    if "PYTEST_XDIST_WORKER" in os.environ:
        migrate_once(tmp_path_factory.getbasetemp().parent)


@pytest.fixture(scope="session")
def ray_address() -> Iterator[str]:
    """Of a Ray on this machine without GPUs. Each run has a namespace of its own there, and gives back what it held."""
    from tests.engine.cluster.runs import new_cluster

    cluster = new_cluster(num_cpus=PROCESSORS)
    yield f"127.0.0.1:{cluster.address.rpartition(':')[2]}"
    cluster.shutdown()
