"""An edit of a suite and a request to evaluate it at the same time: on PostgreSQL each waits for the other's row."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from threading import Event
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection, transaction

from tests.webapp.suites.test_services import ARMS, TINY
from tests.workers.workplace import PATIENCE, wait_for
from webapp.jobs import Refused
from webapp.suites import catalogue, services
from webapp.suites.models import SuiteEvaluation, SuiteVersion

pytestmark = pytest.mark.django_db(transaction=True)
WARMER = ARMS.replace("count = 4", "count = 4\ntemperature = 1.0")


def concurrently(first: Callable[[], object], second: Callable[[], object]) -> Future[Any]:
    """Commits `first` once `second` waits for a row of it; `second`, which is over."""
    written, waited_for = Event(), Event()

    def write_and_wait() -> None:
        with closing(connection), transaction.atomic():
            first()
            written.set()
            assert waited_for.wait(PATIENCE)

    def follow() -> object:
        with closing(connection):
            return second()

    with ThreadPoolExecutor(2) as threads:
        writing = threads.submit(write_and_wait)
        assert written.wait(PATIENCE)
        following = threads.submit(follow)
        if connection.vendor == "postgresql":
            wait_for(lambda: following.done() or a_query_waits_for_a_lock(), what="a transaction that waits")
        waited_for.set()  # on SQLite the second transaction begins after the first
    writing.result()
    return following


def a_query_waits_for_a_lock() -> bool:
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'")
        return bool(cursor.fetchone()[0])


def test_a_version_that_is_being_evaluated_stays_and_the_edit_becomes_the_next_one(user: User) -> None:
    version = catalogue.define(ARMS, user)
    edit = concurrently(
        lambda: services.submit(version, TINY, user),
        lambda: catalogue.define(WARMER, user, suite=version.suite),
    )
    assert edit.result().number == 2
    assert SuiteEvaluation.objects.get().version == version


def test_a_definition_that_was_edited_meanwhile_is_not_evaluated(user: User) -> None:
    version = catalogue.define(ARMS, user)
    evaluation = concurrently(
        lambda: catalogue.define(WARMER, user, suite=version.suite),
        lambda: services.submit(version, TINY, user),
    )
    with pytest.raises(Refused, match="arms was edited meanwhile"):
        evaluation.result()
    assert SuiteVersion.objects.get().frozen_at is None
    assert not SuiteEvaluation.objects.exists()
