"""Rebuilding rows from a run's own file gives the same rows, and keeps those of trajectories removed by retention."""

from __future__ import annotations

import pytest
from django.core.management import CommandError, call_command

from tests.workers.bridged_run import rows_of, run
from tests.workers.engine_record import Record
from webapp.runs.models import Run, RunEvent, StepMetrics
from webapp.trajectories.models import Trajectory
from workers.bridge import Bridge

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


def test_the_rows_of_a_run_whose_file_is_gone_stay(run: Run) -> None:
    record = Record(run)
    record.started()
    record.step(1)
    Bridge(run, 1).drain()
    before = rows_of(run)
    record.path.unlink()
    with pytest.raises(CommandError, match=r"has no events\.jsonl.*backup"):
        call_command("rebuild_run", run.pk)
    assert rows_of(run) == before
    assert run.epoch == 1  # its supervisor, if any, goes on


def without_its_first_file(run: Run) -> Record:
    """Three steps; retention removed the trajectories of the first."""
    record = Record(run)
    record.started()
    for step in (1, 2, 3):
        record.step(step)
        record.file(run, step)
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
