"""Housekeeping: what fails does not keep the rest from being done."""

from __future__ import annotations

import logging
import os
from pathlib import Path

import pytest
from django.utils import timezone
from pytest_django import Settings

from engine import reservations
from tests.webapp.runs.rows import a_run
from webapp.run_pages import removal
from webapp.runs.models import DeletedRun
from webapp.runs.states import RunState
from webapp.user_sessions.models import UserSession
from workers.housekeeping import run_housekeeping

pytestmark = pytest.mark.django_db


@pytest.fixture
def runs(settings: Settings, tmp_path: Path) -> Path:
    settings.RUNS_DIR = tmp_path
    return tmp_path


def test_a_run_that_was_deleted_twice_leaves_nothing(runs: Path) -> None:
    DeletedRun.objects.create(pk="r1", name="calm-otter", who="ada", freed=0)
    for name in ("r1", f"{removal.DOOMED}r1"):
        (runs / name).mkdir()
        (runs / name / "events.jsonl").touch()
    run_housekeeping()
    assert list(runs.iterdir()) == []


def test_what_fails_keeps_nothing_else_from_being_done(runs: Path, caplog: pytest.LogCaptureFixture) -> None:
    run = a_run(state=RunState.RUNNING)
    marker = run.directory / "checkpoints" / reservations.FOLDER / "step_1.evaluations.7"
    marker.mkdir(parents=True)  # a directory where a file should be, which cannot be unlinked
    os.utime(marker, (0, 0))
    UserSession.objects.create(session_key="old", session_data="", expire_date=timezone.now())
    (runs / f"{removal.DOOMED}r1").mkdir()
    with caplog.at_level(logging.ERROR):
        run_housekeeping()
    assert "Housekeeping could not tidy checkpoints; the next round tries again" in caplog.text
    assert not UserSession.objects.exists()
    assert [path.name for path in runs.iterdir()] == [run.pk]
