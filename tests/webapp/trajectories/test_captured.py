"""The list explains what the capture budget dropped and why others were kept; a removed trajectory is explained on its
page."""

from __future__ import annotations

from typing import Any

from django.test import Client

from engine.events import Split, TrajectoriesRecorded
from tests.webapp.event_rows import add_event
from webapp.runs.models import Run
from webapp.trajectories.captured import captured
from webapp.trajectories.models import Trajectory


def recorded(run: Run, step: int, *, seq: int, split: Split = "train", **fields: Any) -> None:
    add_event(run, TrajectoriesRecorded(step=step, split=split, path="x", **fields), seq=seq)


def listed(browser: Client, run: Run, query: str = "") -> str:
    return " ".join(browser.get(f"/runs/{run.pk}/trajectories/{query}").content.decode().split())


def test_a_step_s_list_shows_how_many_were_recorded_and_why(browser: Client, run: Run, rows: list[Trajectory]) -> None:
    recorded(run, 1, seq=1, count=16, dropped=112, reasons={"best": 1, "worst": 1, "sample": 14})
    recorded(run, 2, seq=2, count=16, dropped=0, reasons={"all": 16})
    page = listed(browser, run, "?step=1")
    assert "16 of 128 of this step kept: 1 the best, 1 the worst, 14 at random." in page
    assert "dropped 112" in page
    assert "32 of 144 kept" in listed(browser, run)
    assert "capture budget" not in listed(browser, run, "?step=2")


def test_a_repeated_step_counts_once_and_a_discarded_step_does_not_count(run: Run) -> None:
    recorded(run, 1, seq=1, count=10, dropped=90, reasons={"sample": 10})
    recorded(run, 1, seq=7, count=20, dropped=80, reasons={"sample": 20})
    recorded(run, 1, seq=8, split="validation", count=5, dropped=1, reasons={"sample": 5})
    recorded(run, run.step + 1, seq=9, count=1, dropped=1000)
    found = captured(run)
    assert found is not None
    assert (found.kept, found.dropped, found.reasons) == (25, 81, [("at random", 25)])


def test_a_trajectory_removed_by_retention_is_marked_and_explained(
    browser: Client, run: Run, rows: list[Trajectory]
) -> None:
    Run.objects.filter(pk=run.pk).update(config={**run.config, "capture": {"keep_steps": 3}})
    Trajectory.objects.filter(pk=rows[0].pk).update(removed=True)
    page = listed(browser, run)
    assert "1 is listed but removed: the run keeps the newest 3 recorded steps." in page
    reader = browser.get(f"/runs/{run.pk}/trajectories/{rows[0].pk}/")
    assert reader.status_code == 410
    assert "This trajectory was removed" in reader.content.decode()
    answer = browser.get(f"/runs/{run.pk}/trajectories/{rows[0].pk}/data.json")
    assert answer.status_code == 410
    assert "retention" in answer.json()["error"]["message"]
    assert browser.get(f"/runs/{run.pk}/trajectories/{rows[1].pk}/").status_code == 200


def test_the_run_form_has_the_capture_budget(browser: Client, run: Run) -> None:
    page = browser.get("/runs/new/").content.decode()
    for name in ("most_per_step", "keep_steps", "most_megabytes"):
        assert f'name="capture.{name}"' in page
