"""Trajectories that cannot be read are listed with the others, with the cause and a remedy."""

from __future__ import annotations

import pytest
from django.test import Client

from engine.events import TrajectoriesRecorded
from engine.rollout.trajectory_files import read_records
from tests.builders.trajectories import record_steps
from tests.hostile import short
from tests.webapp.security.page_reader import read_page
from webapp.runs.models import Run
from webapp.trajectories.models import LostTrajectory, Trajectory
from workers.bridge import save_trajectories
from workers.rows import Rows


@pytest.fixture
def damaged(run: Run) -> Run:
    """One step of 4 groups x 4 members, whose file ends in the last member of the third group."""
    record_steps(run, run.parsed_config().environments[0], steps=range(1, 2))
    file = Trajectory.objects.filter(run=run).values_list("file", flat=True)[0]
    path = run.directory / file
    offset = [offset for offset, _, _ in read_records(path)][11]
    path.write_bytes(path.read_bytes()[: offset + 40])
    rows = Rows(run)
    rows.add(TrajectoriesRecorded(seq=9, time=1.0, attempt=1, epoch=0, step=1, split="train", path=file, count=16))
    save_trajectories(rows)
    return run


def test_the_list_shows_lost_trajectories_with_cause_and_remedy(browser: Client, damaged: Run) -> None:
    text = browser.get(f"/runs/{damaged.pk}/trajectories/").content.decode()
    assert "5 recorded trajectories cannot be read" in text
    assert "group 2, member 3" in text
    assert "group 3, member 0" in text
    assert text.count("it was cut off at byte") == 6  # once for the file, and on each of the five
    assert f"rebuild_run {damaged.pk}" in text
    assert "11 of 11 trajectories" in text


def test_step_and_group_filters_apply_to_lost_trajectories(browser: Client, damaged: Run) -> None:
    address = f"/runs/{damaged.pk}/trajectories/"
    assert browser.get(address + "?group=2").context["lost_count"] == 1
    assert browser.get(address + "?step=2").context["lost_count"] == 0
    assert browser.get(address + "?success=yes").context["lost_count"] == 5


def test_a_group_s_reader_lists_its_lost_members(browser: Client, damaged: Run) -> None:
    row = damaged.trajectories.get(group=2, member=0)
    text = browser.get(f"/runs/{damaged.pk}/trajectories/{row.pk}/").content.decode()
    assert "1 member of this group cannot be read" in text
    whole = damaged.trajectories.get(group=1, member=0)
    assert "cannot be read. " not in browser.get(f"/runs/{damaged.pk}/trajectories/{whole.pk}/").content.decode()


def test_a_run_whose_trajectories_are_all_lost_is_not_shown_as_empty(browser: Client, run: Run) -> None:
    LostTrajectory.objects.create(run=run, step=1, split="train", file="s", count=16, why="Gone.", remedy="Restore it.")
    text = browser.get(f"/runs/{run.pk}/trajectories/").content.decode()
    assert "16 recorded trajectories cannot be read" in text
    assert "No trajectories yet" not in text


def test_hostile_text_of_a_damaged_file_is_escaped(browser: Client, damaged: Run) -> None:
    for text in short(60):
        LostTrajectory.objects.filter(group=2).update(environment=text, why=text, file=text, remedy=text)
        assert read_page(browser.get(f"/runs/{damaged.pk}/trajectories/").content.decode()).dangers == []
