"""Checkpoints that are reserved are not removed, whoever comes first."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine import reservations
from engine.reservations import markers, release, reserve
from engine.training.checkpoint_folder import checkpoints, prune, remove_partial, step_of
from engine.training.session import EXIT_DONE, train
from tests.engine.models import save_small_model
from tests.engine.training.test_runs import events_of, run_config


def make(directory: Path, *steps: int) -> None:
    for step in steps:
        (directory / f"step_{step}").mkdir(parents=True)
        (directory / f"step_{step}" / "manifest.json").write_text("{}")


def pruned(directory: Path) -> tuple[list[int], set[int]]:
    """The steps that are left after the newest one was to be kept, and what `prune` says of them."""
    reported = prune(directory, newest=1, before=(), held_out={}, good=checkpoints(directory))
    return [step_of(path) for path in checkpoints(directory)], reported


def test_a_reserved_checkpoint_stays_until_the_last_who_needs_it_releases_it(tmp_path: Path) -> None:
    make(tmp_path, 1, 2, 3)
    assert reserve(tmp_path, 1, "evaluation.1") and reserve(tmp_path, 1, "evaluation.2")
    assert pruned(tmp_path) == ([1, 3], {1, 3})
    release(tmp_path, 1, "evaluation.1")
    assert [by for _, by in markers(tmp_path)] == ["evaluation.2"]
    assert pruned(tmp_path) == ([1, 3], {1, 3})
    release(tmp_path, 1, "evaluation.2")
    assert pruned(tmp_path) == ([3], {3})


def test_a_step_that_begins_with_the_same_digits_is_another_one(tmp_path: Path) -> None:
    make(tmp_path, 1, 12, 20)
    reserve(tmp_path, 12, "evaluation.1")
    assert pruned(tmp_path) == ([12, 20], {12, 20})


def test_what_does_not_exist_cannot_be_reserved_and_leaves_no_marker(tmp_path: Path) -> None:
    make(tmp_path, 2)
    assert not reserve(tmp_path, 1, "evaluation.1")
    assert list(markers(tmp_path)) == []


def test_a_checkpoint_that_is_reserved_while_it_is_being_removed_comes_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make(tmp_path, 1, 2)
    looks = 0

    def is_reserved(checkpoint: Path) -> bool:
        nonlocal looks
        looks += 1
        return looks > 1  # not at first, but once it was taken away

    monkeypatch.setattr(reservations, "is_reserved", is_reserved)
    assert pruned(tmp_path) == ([1, 2], {1, 2})
    assert (tmp_path / "step_1" / "manifest.json").exists()


def test_a_removal_that_was_interrupted_is_completed(tmp_path: Path) -> None:
    make(tmp_path, 1)
    (tmp_path / "step_1").rename(tmp_path / ".step_1.removed")
    remove_partial(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_removal_that_was_interrupted_is_undone_if_somebody_reserved_the_checkpoint(tmp_path: Path) -> None:
    make(tmp_path, 1, 2)
    assert reserve(tmp_path, 1, "evaluation.1")
    for step in (1, 2):
        (tmp_path / f"step_{step}").rename(tmp_path / f".step_{step}.removed")
    remove_partial(tmp_path)
    assert [step_of(path) for path in checkpoints(tmp_path)] == [1]
    assert (tmp_path / "step_1" / "manifest.json").exists()
    assert list(tmp_path.glob(".step_*")) == []


def test_a_run_keeps_a_reserved_checkpoint_and_reports_it(tmp_path: Path) -> None:
    config = run_config(
        save_small_model(tmp_path / "model"),
        steps=4,
        detectors={"rules": []},
        checkpoint={"every": 1, "keep": 1},
        evaluation={"every": 0, "at_start": False, "final_episodes": 4},
    )
    directory = tmp_path / "run"
    marker = directory / "checkpoints" / reservations.FOLDER / "step_2.evaluation.1"
    marker.parent.mkdir(parents=True)
    marker.touch()
    assert train(config, directory) == EXIT_DONE
    left = [step_of(path) for path in checkpoints(directory / "checkpoints")]
    assert left == [2, 4]
    saved = [event for event in events_of(directory) if event.kind == "checkpoint_saved"]
    assert saved[-1].kept == [2, 4]
