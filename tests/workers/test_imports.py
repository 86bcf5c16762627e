"""Imports on real workers: killed in the middle, on a full disk, and stopped. Every line is there once."""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from collections import Counter
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.test import Client
from pytest_django import Settings

from engine.rollout.trajectory_files import read_records
from tests.engine.foreign.test_rollouts import verl
from tests.engine.training.test_full_disk import disk, fill
from tests.workers.workplace import Workplace, wait_for
from webapp.launching import uploads
from webapp.launching.models import RolloutImport
from webapp.launching.uploads import Upload
from webapp.members.choices import project_for_new
from workers.imports import WAITS_FOR_ROOM
from workers.process import processes_with_cookie

__all__ = ["disk"]
pytestmark = [pytest.mark.slow, pytest.mark.django_db(transaction=True)]

LINES = 6000
SLOW_ENGINE = """
import sys, time
from engine.foreign import run_directory
write = run_directory.write_trajectory_file
def slowly(path, records):
    time.sleep(0.2)
    write(path, records)
run_directory.write_trajectory_file = slowly
from engine.__main__ import main
sys.exit(main(sys.argv[1:]))
"""


@pytest.fixture
def importing(workplace: Workplace, settings: Settings, monkeypatch: pytest.MonkeyPatch) -> Workplace:
    settings.STARBOARD_DATA_DIR = workplace.directory
    monkeypatch.setenv("STARBOARD_DATA_DIR", str(workplace.directory))
    return workplace


def with_real_engine(workplace: Workplace, settings: Settings, *, slow: bool = False) -> Workplace:
    workplace.engine = [sys.executable, "-c", SLOW_ENGINE] if slow else [sys.executable, "-m", "engine"]
    settings.STARBOARD_ENGINE_COMMAND = workplace.engine
    return workplace


def uploaded(lines: list[str]) -> RolloutImport:
    user = User.objects.get_or_create(username="ada", is_staff=True)[0]
    upload = Upload(name="rollouts.jsonl", parts=["\n".join(lines).encode()])
    return uploads.accept([upload], user, project=project_for_new(user))


def numbered(count: int) -> list[str]:
    """Over 60 steps; every hundredth is no rollout."""
    return [
        "no rollout" if number % 100 == 99 else json.dumps({**json.loads(verl(step=number % 60)), "number": number})
        for number in range(count)
    ]


def wait_until(found: RolloutImport, *states: str, seconds: float = 120) -> RolloutImport:
    def reached() -> bool:
        found.refresh_from_db()
        return found.state in states

    wait_for(reached, seconds=seconds, what=f"an import that is {states}")
    return found


def numbers_in_files(found: RolloutImport) -> Counter[int]:
    files = found.run_directory.glob("trajectories/*/*.zst")
    return Counter(record["facts"]["number"] for file in files for _, _, record in read_records(file))


def test_an_import_whose_worker_is_killed_is_continued_by_the_next_one_with_every_line_once(
    importing: Workplace, settings: Settings
) -> None:
    with_real_engine(importing, settings, slow=True)
    worker = importing.start_worker()
    found = uploaded(numbered(LINES))
    wait_for(lambda: len(list(found.run_directory.glob("trajectories/train/*.zst"))) >= 5, seconds=120)
    importing.kill_worker(worker)
    first = found.run_directory / "trajectories/train/step_0.jsonl.zst"
    written_at = first.stat().st_mtime_ns
    found.refresh_from_db()
    assert found.state == "running" and found.run is None
    engines = processes_with_cookie(found.process["cookie"])
    importing.start_worker()
    wait_until(found, "finished", "failed")
    assert (found.state, found.starts, found.read, found.accepted, found.rejected) == (
        "finished", 2, LINES, LINES * 99 // 100, LINES // 100
    )  # fmt: skip
    assert found.errors[0] == ["rollouts.jsonl", 100, found.errors[0][2]] and len(found.errors) == LINES // 100
    assert not [one for one in engines if one in processes_with_cookie(found.process["cookie"])]
    assert first.stat().st_mtime_ns == written_at  # it went on where it had stopped
    expected = Counter(number for number in range(LINES) if number % 100 != 99)
    assert numbers_in_files(found) == expected
    run = found.run
    assert run is not None
    wait_for(lambda: run.trajectories.count() >= found.accepted, seconds=120, what="rows of all trajectories")
    assert run.trajectories.count() == found.accepted
    assert run.trajectories.values("file", "offset").distinct().count() == found.accepted
    assert not found.folder.exists()


def test_progress_is_in_the_row_while_an_import_works_and_a_stop_leaves_nothing(
    importing: Workplace, settings: Settings
) -> None:
    with_real_engine(importing, settings, slow=True)
    importing.start_worker()
    found = uploaded(numbered(LINES))

    def halfway() -> bool:
        found.refresh_from_db()
        return found.state == "running" and 0 < found.written < found.accepted

    wait_for(halfway, seconds=120, what="progress in the row")
    assert (found.read, found.rejected) == (LINES, LINES // 100)
    client = Client()
    client.force_login(User.objects.get())
    assert "6,000 of 6,000 lines read" in client.get(f"/imports/{found.pk}/progress/").content.decode()
    client.post(f"/imports/{found.pk}/stop/")
    wait_until(found, "stopped")
    wait_for(lambda: not found.folder.exists() and not found.run_directory.exists(), what="no files")
    assert found.run is None


def test_an_import_waits_on_a_full_disk_and_then_stores_every_line(
    importing: Workplace, settings: Settings, disk: Path
) -> None:
    with_real_engine(importing, settings)
    (importing.directory / "runs").symlink_to(disk)
    found = uploaded(numbered(600))
    filler = fill(disk)
    importing.start_worker()

    def waits() -> bool:
        found.refresh_from_db()
        return found.message == WAITS_FOR_ROOM

    wait_for(waits, seconds=60, what="a message about the disk")
    assert found.state == "running"
    filler.unlink()
    wait_until(found, "finished", "failed")
    assert (found.state, found.accepted, found.rejected) == ("finished", 594, 6)
    assert sum(numbers_in_files(found).values()) == 594


def test_an_upload_to_a_full_disk_is_refused_and_leaves_nothing(
    importing: Workplace, settings: Settings, disk: Path
) -> None:
    settings.STARBOARD_DATA_DIR = disk
    (disk / "imports").mkdir()
    fill(disk)
    with pytest.raises(uploads.NoRoom, match="disk is full"):
        uploaded(numbered(6000))
    assert list((disk / "imports").iterdir()) == [] and not RolloutImport.objects.exists()


def test_a_worker_that_shuts_down_hands_its_import_to_the_next_one(importing: Workplace, settings: Settings) -> None:
    with_real_engine(importing, settings, slow=True)
    worker = importing.start_worker()
    found = uploaded(numbered(1200))
    wait_for(lambda: len(list(found.run_directory.glob("trajectories/train/*.zst"))) >= 2, seconds=120)
    os.kill(worker.pid, signal.SIGTERM)
    worker.wait(60)
    time.sleep(0.1)
    found.refresh_from_db()
    assert (found.state, found.process) == ("queued", {})
    importing.start_worker()
    wait_until(found, "finished", "failed")
    assert (found.state, found.starts) == ("finished", 2)
    assert set(numbers_in_files(found).values()) == {1} and sum(numbers_in_files(found).values()) == 1188
