"""Workers whose wall clocks differ by an hour or a day, as after a jump: a library shifts the clock of the process."""

from __future__ import annotations

import shutil
import subprocess
import time
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from django.utils import timezone

from tests.workers.workplace import Workplace, events_in_file, seqs_in_rows, wait_for, wait_for_state
from webapp.runs.models import Run

COMPILER = shutil.which("cc") or shutil.which("gcc") or "g++"
HOUR, DAY = 3600, 86_400

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    built = tmp_path_factory.mktemp("clock") / "shifted_clock.so"
    source = Path(__file__).with_name("shifted_clock.c")
    subprocess.run([COMPILER, "-shared", "-fPIC", "-o", str(built), str(source), "-ldl"], check=True)
    return built


def shifted(library: Path, seconds: int) -> dict[str, str]:
    return {"LD_PRELOAD": str(library), "SHIFT_SECONDS": str(seconds)}


def expiry(run: Run) -> datetime:
    expires = Run.objects.get(pk=run.pk).lease_expires
    assert expires is not None
    return expires


@pytest.mark.parametrize("shift", [HOUR, -DAY])
def test_a_worker_with_another_wall_clock_takes_no_run_from_a_worker_that_follows_it(
    workplace: Workplace, library: Path, shift: int
) -> None:
    workplace.start_worker()
    run = workplace.submit(steps=150, step_seconds=0.1)
    wait_for(lambda: run.steps.count() >= 3, what="three steps in rows")
    workplace.start_worker(**shifted(library, shift))
    run = wait_for_state(run, "finished", seconds=60)
    assert run.epoch == 1
    assert seqs_in_rows(run) == [event["seq"] for event in events_in_file(run)]


@pytest.mark.parametrize("shift", [DAY, -DAY])
def test_a_worker_with_another_wall_clock_keeps_its_own_run_and_one_that_is_killed_is_replaced(
    workplace: Workplace, library: Path, shift: int
) -> None:
    workplace.limits = {"lease": 10.0, "renew": 1.0}
    worker = workplace.start_worker(**shifted(library, shift))
    run = workplace.submit(steps=250, step_seconds=0.1)
    wait_for(lambda: run.steps.count() >= 3, what="three steps in rows")
    assert abs(expiry(run) - timezone.now()) > timedelta(hours=20)  # its clock is another one indeed
    workplace.start_worker()
    written = len(events_in_file(run))
    wait_for(lambda: len(events_in_file(run)) > written + 300, what="ten seconds more")
    assert Run.objects.get(pk=run.pk).epoch == 1
    workplace.suspend_worker(worker)
    wait_for(lambda: Run.objects.get(pk=run.pk).epoch == 2, what="another supervisor")
    workplace.kill_worker(worker)
    run = wait_for_state(run, "finished", seconds=60)
    assert seqs_in_rows(run) == [event["seq"] for event in events_in_file(run)]


@pytest.mark.parametrize("shift", [DAY, -DAY])
def test_a_jump_of_the_wall_clock_neither_ends_nor_prolongs_the_pause_before_a_restart(
    workplace: Workplace, library: Path, shift: int
) -> None:
    pause, jump = 12.0, workplace.directory / "jump"
    workplace.limits = {"restart_pauses": [pause]}
    workplace.start_worker(**shifted(library, shift), SHIFT_FROM=str(jump))
    run = workplace.submit(steps=8, crash_at=7)
    wait_for(lambda: Run.objects.get(pk=run.pk).restart_pause == pause, what="a run that waits for its restart")
    since = time.monotonic()
    jump.touch()
    wait_for(lambda: len(events_in_file(run)) and events_in_file(run)[-1]["attempt"] == 2, what="a restart")
    # a round of the worker's scheduler comes every 5 seconds, and the engine takes some to start
    assert pause - 2 < time.monotonic() - since < pause + 15
    wait_for_state(run, "finished")
