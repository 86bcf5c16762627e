"""What-ifs on the worker: played by real engines, one at a time, ended on request, and never left behind."""

from __future__ import annotations

import signal
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.utils import timezone
from pytest_django import Settings

from tests.builders.small_run import add_small_run, make_small_run
from tests.workers.workplace import wait_for
from webapp.jobs import JobState
from webapp.trajectories.models import Trajectory
from webapp.whatif import services
from webapp.whatif.models import WhatIf
from webapp.whatif.origins import ForkedOrigin, RecordedOrigin
from workers import lease, what_if
from workers.engine_process import start
from workers.process import processes_with_cookie, sweep
from workers.tasks import play_job
from workers.what_if import HeldWhatIf

SLEEPER = [sys.executable, "-c", "import time; time.sleep(60)"]


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_small_run(tmp_path_factory.mktemp("runs") / "arun")


@pytest.fixture
def row(trained: Path, transactional_db: None, settings: Settings) -> Iterator[Trajectory]:
    settings.RUNS_DIR = str(trained.parent)
    yield add_small_run(trained)
    for submitted in WhatIf.objects.all():
        for identity in processes_with_cookie(submitted.process.get("cookie", "none")):
            sweep(identity.cookie, seconds=5)


def submit(row: Trajectory, **fields: Any) -> WhatIf:
    chosen = {"turn": 0, "edit": "nothing", "text": "", "checkpoint": "", "temperature": 1.0, "seed": 1, **fields}
    return services.submit(RecordedOrigin(row), None, chosen)


@pytest.mark.slow
def test_a_what_if_is_played_by_a_real_engine_and_its_trajectory_can_be_read(row: Trajectory) -> None:
    submitted = submit(row, edit="action", text="Up", checkpoint="step_1")
    play_job(HeldWhatIf, submitted.pk)
    submitted.refresh_from_db()
    assert (submitted.state, submitted.message) == ("finished", "")
    assert submitted.summary["turns"] >= 1
    record = services.record(submitted)
    assert record["turns"][0]["parsed"] == ["Up"]
    events = services.events_after(submitted, 0)
    assert [events[0]["kind"], events[-1]["kind"]] == ["loading", "finished"]
    assert processes_with_cookie(submitted.process["cookie"]) == []


@pytest.mark.slow
def test_a_what_if_is_forked_from_a_what_if(row: Trajectory) -> None:
    first = submit(row, edit="action", text="Nowhere")
    play_job(HeldWhatIf, first.pk)
    first.refresh_from_db()
    fields = {"turn": 1, "edit": "nothing", "text": "", "checkpoint": "step_1", "temperature": 1.0, "seed": 4}
    second = services.submit(ForkedOrigin(first), None, fields)
    play_job(HeldWhatIf, second.pk)
    second.refresh_from_db()
    assert (second.state, second.message) == ("finished", "")
    made, before = (services.record(one)["turns"][0] for one in (second, first))
    assert [made[name] for name in ("prompt", "response", "executed")] == [
        before[name] for name in ("prompt", "response", "executed")
    ]


@pytest.mark.slow
def test_a_refusal_of_the_engine_is_stored_with_its_remedy(row: Trajectory) -> None:
    submitted = submit(row, checkpoint="step_1")
    WhatIf.objects.update(checkpoint="step_77")  # as if somebody had deleted the folder since
    play_job(HeldWhatIf, submitted.pk)
    submitted.refresh_from_db()
    assert (submitted.state, submitted.message) == (
        "refused",
        "The checkpoint step_77 no longer exists: the run keeps only the newest.",
    )
    assert submitted.remedy == "Choose one that is listed."


def test_an_engine_without_a_report_fails_with_the_end_of_its_log(row: Trajectory, settings: Settings) -> None:
    settings.STARBOARD_ENGINE_COMMAND = [sys.executable, "-c", "raise SystemExit('no such library')"]
    submitted = submit(row)
    play_job(HeldWhatIf, submitted.pk)
    submitted.refresh_from_db()
    assert (submitted.state, submitted.remedy) == ("failed", "no such library")
    assert "exit status 1" in submitted.message


def test_a_stop_ends_its_process(row: Trajectory, settings: Settings) -> None:
    settings.STARBOARD_ENGINE_COMMAND = SLEEPER
    submitted = submit(row)
    playing = threading.Thread(target=play_job, args=[HeldWhatIf, submitted.pk])
    playing.start()

    def cookie() -> str:
        submitted.refresh_from_db()
        return str(submitted.process.get("cookie", "none"))

    wait_for(lambda: processes_with_cookie(cookie()), seconds=20)
    assert submitted.stop()
    playing.join(20)
    submitted.refresh_from_db()
    assert (submitted.state, submitted.message) == ("stopped", "Stopped on request.")
    assert processes_with_cookie(cookie()) == []


def test_a_what_if_that_takes_too_long_is_ended(
    row: Trajectory, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.STARBOARD_ENGINE_COMMAND = SLEEPER
    monkeypatch.setattr(what_if, "LOADING_SECONDS", 0.5)
    monkeypatch.setattr(services, "MOST_SECONDS", 0.5)
    submitted = submit(row)
    began = time.monotonic()
    play_job(HeldWhatIf, submitted.pk)
    submitted.refresh_from_db()
    assert (submitted.state, submitted.message) == ("failed", "It timed out.")
    assert time.monotonic() - began < 30


def test_a_second_what_if_waits_for_the_first(row: Trajectory) -> None:
    first = submit(row)
    WhatIf.objects.update(state=JobState.RUNNING, owner=None)
    second = WhatIf.objects.create(
        run=row.run,
        turn=0,
        edit="nothing",
        temperature=1.0,
        seed=1,
        **{name: first.trajectory_key[name] for name in first.trajectory_key},
    )
    assert not HeldWhatIf.play(second.pk, threading.Event())
    second.refresh_from_db()
    assert second.state == "queued"


def test_a_what_if_that_lost_its_worker_fails_and_its_process_is_ended(row: Trajectory, settings: Settings) -> None:
    submitted = submit(row)
    folder = submitted.folder
    folder.mkdir(parents=True, exist_ok=True)
    child = start(SLEEPER, folder / "engine.log", cookie="what-if-lost", variables={})
    holder = lease.this_holder().split(" ")
    holder[2] = "1"  # a process with this pid that started at another time
    process = {"cookie": "what-if-lost", "holder": " ".join(holder)}
    WhatIf.objects.update(state=JobState.RUNNING, started_at=timezone.now(), process=process)
    HeldWhatIf.fail_abandoned()
    submitted.refresh_from_db()
    assert (submitted.state, submitted.message) == ("failed", "The worker that played it no longer exists.")
    assert child.wait(10) == -signal.SIGKILL


def test_a_what_if_without_its_original_fails_with_a_reason(row: Trajectory) -> None:
    submitted = submit(row)
    Trajectory.objects.all().delete()
    play_job(HeldWhatIf, submitted.pk)
    submitted.refresh_from_db()
    assert (submitted.state, submitted.message) == ("failed", "The trajectory that it forks no longer exists.")
