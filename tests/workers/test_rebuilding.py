"""Rebuilding rows from a run's own file gives the same rows, and keeps those of trajectories removed by retention."""

from __future__ import annotations

import gc
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command
from pytest_django import Settings

from tests.workers.bridged_run import rows_of, run
from tests.workers.engine_record import Record, recorded
from webapp.runs.models import Run, RunEvent, StepMetrics
from webapp.trajectories.models import Trajectory
from workers.bridge import Bridge
from workers.rebuilding import rebuild

__all__ = ["run"]

pytestmark = pytest.mark.django_db

FIRST_FILE = "trajectories/train/step_1.jsonl.zst"


def test_rebuilding_from_the_file_gives_identical_rows(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    record = Record(run)
    bridge = Bridge(run, 1)
    record.started()
    for step in (1, 2, 3):
        record.groups(step, 0.5, 0.0)
        record.step(step)
        record.file(run, step)
        record.evaluation(step)
        bridge.drain()
    record.event("alert_raised", step=3, rule="flat", severity="warn", message="Flat.", metric="reward/mean", value=0.1)
    record.attempt = 2
    record.started(resumed_from=2)
    bridge.drain()
    record.step(3)
    record.file(run, 3, members=1)
    (run.directory / "checkpoints/step_3").mkdir(parents=True)
    record.event("checkpoint_saved", step=3, path="checkpoints/step_3", bytes=9, reason="final")
    record.event("run_finished", step=3, outcome="completed", reason="Done.")
    bridge.drain()
    before = rows_of(run)
    for table in (RunEvent, StepMetrics, Trajectory):
        table.objects.filter(run=run).delete()
    call_command("rebuild_run", run.pk)
    assert rows_of(run) == before
    assert f"{record.seq} events, step 3 of 10" in capsys.readouterr().out


def test_the_garbage_collector_rests_meanwhile_only(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    record = Record(run)
    record.started()
    seen: list[bool] = []

    def drained(*_: object, **__: object) -> None:
        seen.append(gc.isenabled())
        if len(seen) == 2:
            raise OSError("The disk is gone.")

    monkeypatch.setattr(Bridge, "drain", drained)
    rebuild(run.pk)
    assert gc.isenabled()
    with pytest.raises(OSError, match="disk is gone"):
        rebuild(run.pk)
    assert gc.isenabled() and seen == [False, False]


def test_rows_do_not_depend_on_what_was_read_together(settings: Settings, tmp_path: Path) -> None:
    """Attempt 2 repeats step 4 of attempt 1; attempt 3 repeats steps 2 and 3 of attempt 1, and step 4 of attempt 2."""
    settings.RUNS_DIR = str(tmp_path)
    for read_first in range(1, 15):
        run = Run.objects.create(name=f"run-{read_first}", config={}, state="starting", epoch=1)
        record = Record(run)
        for attempt, begins, ends in ((1, 1, 4), (2, 4, 4), (3, 2, 2)):
            record.attempt = attempt
            record.started(resumed_from=begins - 1 or None)
            for step in range(begins, ends + 1):
                record.groups(step, 0.5, 0.0)
                record.step(step)
        lines = record.path.read_bytes().splitlines(keepends=True)
        assert len(lines) == 15  # three starts, and two lines for each of six steps
        bridge = Bridge(run, 1)
        for count in (read_first, len(lines)):
            record.path.write_bytes(b"".join(lines[:count]))
            bridge.drain()
        before = rows_of(run)
        call_command("rebuild_run", run.pk)
        assert rows_of(run) == before, f"{read_first} lines were read first"


def test_the_rows_of_a_run_whose_file_is_gone_stay(run: Run) -> None:
    record = recorded(run, steps=1)
    Bridge(run, 1).drain()
    before = rows_of(run)
    record.path.unlink()
    with pytest.raises(CommandError, match=r"has no events\.jsonl.*backup"):
        call_command("rebuild_run", run.pk)
    assert rows_of(run) == before
    assert run.epoch == 1  # its supervisor, if any, goes on


def without_its_first_file(run: Run) -> Record:
    """Three steps; retention removed the trajectories of the first."""
    record = recorded(run, steps=3, files=True)
    Bridge(run, 1).drain()
    (run.directory / FIRST_FILE).rename(run.directory / "a copy")
    record.event("trajectories_removed", step=3, paths=[FIRST_FILE], bytes=10)
    Bridge(run, 1).drain()
    return record


def test_rebuilding_keeps_the_rows_of_trajectories_that_retention_removed(
    run: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    without_its_first_file(run)
    before = rows_of(run)
    of_removed = sorted(run.trajectories.filter(removed=True).values_list("pk", flat=True))
    call_command("rebuild_run", run.pk)
    assert rows_of(run) == before
    assert sorted(run.trajectories.filter(removed=True).values_list("pk", flat=True)) == of_removed
    assert "2 trajectories removed by retention: rows kept" in capsys.readouterr().out


def test_rebuilding_reports_how_many_removed_trajectories_have_no_rows(
    run: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    without_its_first_file(run)
    run.trajectories.filter(removed=True).delete()
    call_command("rebuild_run", run.pk)
    assert not run.trajectories.filter(step=1).exists()
    assert not run.lost_trajectories.exists()
    assert "2 trajectories that its retention removed have no rows" in capsys.readouterr().out


def test_a_restored_file_is_read_again(run: Run) -> None:
    without_its_first_file(run)
    run.trajectories.filter(removed=True).update(turns=77)
    (run.directory / "a copy").rename(run.directory / FIRST_FILE)
    call_command("rebuild_run", run.pk)
    assert [row.turns for row in run.trajectories.filter(step=1)] == [3, 3]


def test_removed_rows_above_the_step_of_a_later_attempt_are_not_restored(run: Run) -> None:
    record = without_its_first_file(run)
    record.attempt = 2
    record.started(resumed_from=0)
    call_command("rebuild_run", run.pk)  # with an unread second attempt
    assert not run.trajectories.exists()
