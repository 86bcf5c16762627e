"""Damaged, truncated or missing trajectory files lose only their damaged records, and the rows have which and why."""

from __future__ import annotations

import json
from typing import Any

import pytest

from engine.rollout.trajectory_files import read_records, write_trajectory_file
from tests.workers.engine_record import Record, trajectory
from webapp.runs.models import Run
from workers.bridge import Bridge
from workers.rebuilding import rebuild

pytestmark = pytest.mark.django_db

FILE = "trajectories/train/step_1.jsonl.zst"


@pytest.fixture
def run(tmp_path: Any, settings: Any) -> Run:
    settings.RUNS_DIR = str(tmp_path)
    return Run.objects.create(name="calm-otter-12", config={}, state="starting", epoch=1)


def damage(run: Run, *, cut: int | None = None, zero: int | None = None) -> None:
    """Truncates the file in its `cut`th trajectory, or zeroes the middle of the `zero`th."""
    path = run.directory / FILE
    records = [(offset, length) for offset, length, _ in read_records(path)]
    data = bytearray(path.read_bytes())
    if zero is not None:
        offset, length = records[zero]
        data[offset + length // 2 : offset + length // 2 + 4] = b"\0" * 4
    if cut is not None:
        del data[records[cut][0] + 3 :]
    path.write_bytes(bytes(data))


def recorded(run: Run, members: int = 4) -> Record:
    record = Record(run)
    record.started()
    record.file(run, 1, members=members)
    record.step(2)
    return record


def losses(run: Run) -> list[tuple[int | None, int, str]]:
    return [(row.member, row.count, row.why) for row in run.lost_trajectories.order_by("member")]


def test_a_truncated_file_keeps_its_readable_records_and_names_the_lost_ones(run: Run) -> None:
    recorded(run)
    damage(run, cut=2)
    Bridge(run, 1).drain()
    assert sorted(run.trajectories.values_list("member", flat=True)) == [0, 1]
    assert [(member, count) for member, count, _ in losses(run)] == [(2, 1), (3, 1)]
    row = run.lost_trajectories.get(member=3)
    assert (row.step, row.split, row.group, row.seed, row.environment) == (1, "train", 0, 7, "FrozenLake")
    assert "it was cut off at byte" in row.why
    assert row.remedy.endswith(f"python manage.py rebuild_run {run.pk}")
    assert run.steps.count() == 1  # events after the file are stored


def test_damage_in_the_middle_loses_one_record(run: Run) -> None:
    recorded(run)
    damage(run, zero=1)
    Bridge(run, 1).drain()
    assert sorted(run.trajectories.values_list("member", flat=True)) == [0, 2, 3]
    [(member, _, why)] = losses(run)
    assert (member, why.startswith("The file is damaged: at byte ")) == (1, True)


def test_a_restored_file_is_complete_after_rebuilding(run: Run) -> None:
    recorded(run)
    path = run.directory / FILE
    whole = path.read_bytes()
    path.unlink()
    Bridge(run, 1).drain()
    assert losses(run) == [(None, 4, "The file is gone.")]
    path.write_bytes(whole)
    rebuild(run.pk)
    assert (run.trajectories.count(), run.lost_trajectories.count()) == (4, 0)


def test_a_file_with_too_few_records_reports_how_many_are_missing(run: Run) -> None:
    recorded(run)
    write_trajectory_file(run.directory / FILE, [trajectory(step=1, member=0)])
    Bridge(run, 1).drain()
    assert losses(run) == [(None, 3, "The file has fewer trajectories than were recorded.")]


@pytest.mark.parametrize(
    "wrong",
    [{"step": "x"}, {"step": -1}, {"group": None}, {"environment": "e" * 61}, {"return": float("inf")}, {"turns": 3},
     {"seed": 2**70}, {"tokens": []}, {"success": "maybe"}],
)  # fmt: skip
def test_a_record_that_cannot_be_stored_loses_only_itself(
    run: Run, wrong: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    recorded(run, members=3)
    records = [trajectory(step=1, member=member) for member in range(3)]
    records[1] |= wrong
    monkeypatch.setattr("engine.rollout.trajectory_files._encode", lambda one: json.dumps(one).encode())  # infinity too
    write_trajectory_file(run.directory / FILE, records)
    Bridge(run, 1).drain()
    assert sorted(run.trajectories.values_list("member", flat=True)) == [0, 2]
    assert ["it is not a complete record" in why for _, _, why in losses(run)] == [True]


def test_losses_above_a_checkpoint_are_removed_with_their_attempt(run: Run) -> None:
    record = recorded(run)
    (run.directory / FILE).unlink()
    record.attempt = 2
    record.started(resumed_from=0)
    Bridge(run, 1).drain()
    assert losses(run) == []
