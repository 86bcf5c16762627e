"""What all kinds of jobs have in common; their own tests play them by real engines."""

from __future__ import annotations

import sys
import threading
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.db import OperationalError, connection
from django.utils import timezone
from pytest_django import Settings

from engine.config import EnvironmentConfig
from tests.workers.test_sightings import Clock
from webapp.environments.models import Preflight
from webapp.environments.services import define_unmeasured
from webapp.jobs import Job, JobState
from workers import sightings
from workers.app import app
from workers.job_kinds import KINDS
from workers.preflights import HeldPreflight
from workers.process import processes_with_cookie


def test_every_kind_of_job_is_played_by_its_task() -> None:
    assert {kind.model for kind in KINDS} == set(Job.__subclasses__())
    app.loader.import_default_modules()
    assert {kind.model.TASK for kind in KINDS} <= app.tasks.keys()


@pytest.mark.django_db(transaction=True)
def test_an_error_of_the_worker_fails_the_job_and_ends_its_engine(
    monkeypatch: pytest.MonkeyPatch, settings: Settings, tmp_path: Path
) -> None:
    def look(held: HeldPreflight) -> None:
        assert processes_with_cookie(held.job.process["cookie"])
        raise OSError("the disk is full")

    monkeypatch.setattr(HeldPreflight, "look", look)
    settings.STARBOARD_DATA_DIR = str(tmp_path)
    settings.STARBOARD_ENGINE_COMMAND = [sys.executable, "-c", "import time; time.sleep(60)"]
    version = define_unmeasured(name="Bandit", config=EnvironmentConfig(kind="bandit"))
    job = Preflight.objects.create(version=version, config=version.config, player="random", problems=1, rollouts=1)
    assert HeldPreflight.play(job.pk, threading.Event())
    job.refresh_from_db()
    assert (job.state, job.message) == (JobState.FAILED, "OSError: the disk is full")
    assert processes_with_cookie(job.process["cookie"]) == []


@pytest.mark.django_db(transaction=True)
def test_a_job_whose_engine_ends_while_the_database_is_away_ends_as_its_engine_did(
    monkeypatch: pytest.MonkeyPatch, settings: Settings, tmp_path: Path
) -> None:
    """The database is away for a second, from when the engine runs; the engine ends after half of it."""
    away, refused = threading.Event(), []

    def execute_unless_away(execute: Any, sql: str, *given: Any) -> Any:
        if away.is_set():
            refused.append(sql)
            raise OperationalError("server closed the connection unexpectedly")
        return execute(sql, *given)

    def look(held: HeldPreflight) -> None:
        if not refused and not away.is_set():
            away.set()
            threading.Timer(1.0, away.clear).start()

    monkeypatch.setattr(HeldPreflight, "look", look)
    monkeypatch.setattr("workers.held_jobs.OUTAGE_PAUSE", 0.1)
    settings.STARBOARD_DATA_DIR = str(tmp_path)
    settings.STARBOARD_ENGINE_COMMAND = [sys.executable, "-c", "import time; time.sleep(0.5)"]
    version = define_unmeasured(name="Bandit", config=EnvironmentConfig(kind="bandit"))
    job = Preflight.objects.create(version=version, config=version.config, player="random", problems=1, rollouts=1)
    with connection.execute_wrapper(execute_unless_away):
        assert HeldPreflight.play(job.pk, threading.Event())
    assert refused
    job.refresh_from_db()
    assert (job.state, job.message) == (JobState.FINISHED, "")


@pytest.mark.django_db
def test_a_job_is_given_up_once_it_was_seen_for_its_time_limit_whatever_wall_clocks_say(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock = Clock()
    monkeypatch.setattr(sightings.jobs, "clock", clock)
    version = define_unmeasured(name="Bandit", config=EnvironmentConfig(kind="bandit"))
    process = {"cookie": "a cookie that nobody has", "holder": "another-machine 4711 1 1"}  # no proof that it is gone
    job = Preflight.objects.create(
        version=version, config=version.config, player="random", problems=1, rollouts=1, state=JobState.RUNNING,
        process=process, started_at=timezone.now() - timedelta(days=1),
    )  # fmt: skip
    limit = HeldPreflight(job).seconds() + 60  # two sweeps of 30 seconds
    states: list[str] = []
    for clock.now in (1000, 1000 + limit / 2, 1000 + limit - 1, 1000 + limit):
        HeldPreflight.fail_abandoned()
        job.refresh_from_db()
        states.append(job.state)
    assert states == [JobState.RUNNING] * 3 + [JobState.FAILED]
    assert "The worker that played it no longer exists." in job.message
