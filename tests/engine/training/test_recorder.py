"""What a run leaves on disk: the budget of a step, the retention of all, and events that say both."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from engine.config import build_config
from engine.rollout.trajectory_files import read_records
from engine.training.recorder import MEGABYTE, Recorder
from engine.training.run_directory import EventLog, RunDirectory
from engine.training.session import EXIT_DONE, train
from tests.engine.models import save_small_model
from tests.engine.rollout.test_capture import step as made_up
from tests.engine.training.test_runs import events_of, run_config, steps_of


def recorder(path: Path, **capture: Any) -> tuple[Recorder, EventLog]:
    directory = RunDirectory(path)
    config = build_config({"capture": capture})
    return Recorder(config, directory, piece=str), EventLog(directory.events, attempt=1, epoch=0)


def files(path: Path) -> list[str]:
    found = path.glob("trajectories/*/*.zst")
    return sorted(f"{file.parent.name} {file.name.partition('.')[0]}" for file in found)


def record(path: Path, steps: range, **capture: Any) -> list[Any]:
    writes, events = recorder(path, **capture)
    for step in steps:
        writes.report(writes.training(step, made_up([0, 1], [1, 1], [2, 3]), {0: []}, {}), events)
        writes.report(writes.held_out(step, made_up([1], [0])), events)
    return events_of(path)


def test_an_event_says_what_was_kept_and_what_was_dropped(tmp_path: Path) -> None:
    recorded = record(tmp_path, range(1, 2), most_per_step=5)
    # best and worst are of groups 2 and 0, one of the group of equal returns is always kept, and one of
    # the other three is drawn by lot; then there is room for one more, which makes one of those two groups whole
    assert (recorded[0].count, recorded[0].dropped) == (5, 1)
    assert recorded[0].reasons == {"best": 1, "worst": 1, "zero_variance": 1, "sample": 1, "group": 1}
    assert (recorded[1].split, recorded[1].count, recorded[1].dropped) == ("validation", 2, 0)
    records = [record for _, _, record in read_records(tmp_path / recorded[0].path)]
    assert sorted(record["reason"] for record in records) == ["best", "group", "sample", "worst", "zero_variance"]


def test_only_the_newest_steps_stay_and_splits_are_counted_separately(tmp_path: Path) -> None:
    recorded = record(tmp_path, range(1, 5), keep_steps=2)
    assert files(tmp_path) == ["train step_3", "train step_4", "validation step_3", "validation step_4"]
    removed = [event for event in recorded if event.kind == "trajectories_removed"]
    assert [path for event in removed for path in event.paths] == [
        f"trajectories/{split}/step_{step}.jsonl.zst" for step in (1, 2) for split in ("train", "validation")
    ]
    assert all(event.bytes > 0 for event in removed)


def test_above_the_limit_of_disk_the_oldest_go_and_never_the_newest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("engine.training.recorder.MEGABYTE", MEGABYTE // MEGABYTE)  # so the limit is of one byte
    record(tmp_path, range(1, 4), most_megabytes=1)
    assert files(tmp_path) == ["train step_3", "validation step_3"]


def test_without_limits_all_stay(tmp_path: Path) -> None:
    recorded = record(tmp_path, range(1, 4))
    assert len(files(tmp_path)) == 6
    assert {event.kind for event in recorded} == {"trajectories_recorded"}


@pytest.mark.slow
def test_a_budget_changes_what_is_recorded_and_nothing_that_is_learned(tmp_path: Path) -> None:
    model = save_small_model(tmp_path / "model")
    assert train(run_config(model), tmp_path / "all") == EXIT_DONE
    assert train(run_config(model, capture={"most_per_step": 3, "keep_steps": 2}), tmp_path / "few") == EXIT_DONE
    assert steps_of(tmp_path / "all") == steps_of(tmp_path / "few")
    assert len(files(tmp_path / "few")) == 4


def test_a_later_attempt_writes_beside_the_files_of_earlier_ones(tmp_path: Path) -> None:
    record(tmp_path, range(1, 3))
    first = {path.name: path.read_bytes() for path in (tmp_path / "trajectories/train").iterdir()}
    recorded = record(tmp_path, range(2, 4))[4:]
    assert [event.path for event in recorded if event.split == "train"] == [
        "trajectories/train/step_2.2.jsonl.zst",
        "trajectories/train/step_3.jsonl.zst",
    ]
    assert {name: (tmp_path / "trajectories/train" / name).read_bytes() for name in first} == first


def test_an_attempt_replaces_what_it_recorded_of_a_step_itself(tmp_path: Path) -> None:
    """The final evaluation may follow another one of the same step."""
    writes, _ = recorder(tmp_path)
    paths = [writes.held_out(3, made_up([1], [0])) for _ in range(2)]
    assert [event.path for event in paths if event] == ["trajectories/validation/step_3.jsonl.zst"] * 2


def test_files_of_a_repeated_step_count_as_one_step_of_the_retention(tmp_path: Path) -> None:
    record(tmp_path, range(1, 3))
    record(tmp_path, range(2, 4), keep_steps=2)  # steps 1, 2, 2 again and 3: the last two steps are 2 and 3
    names = sorted(path.name for path in (tmp_path / "trajectories/train").iterdir())
    assert names == ["step_2.2.jsonl.zst", "step_2.jsonl.zst", "step_3.jsonl.zst"]


@pytest.mark.parametrize("limit", [{"keep_steps": 4}, {"most_megabytes": 1}])
def test_a_run_that_started_over_loses_its_old_steps_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: dict[str, int]
) -> None:
    record(tmp_path, range(91, 96))
    size = sum(path.stat().st_size for path in (tmp_path / "trajectories").glob("*/*.zst")) // 5  # of one step
    monkeypatch.setattr("engine.training.recorder.MEGABYTE", 4 * size + size // 2)
    record(tmp_path, range(1, 3), **limit)
    assert files(tmp_path)[:4] == ["train step_1", "train step_2", "train step_94", "train step_95"]


def test_the_name_of_a_file_that_was_removed_is_not_given_to_a_later_attempt(tmp_path: Path) -> None:
    record(tmp_path, range(1, 4), keep_steps=2)  # without step 1
    writes, _ = recorder(tmp_path)
    writes.attempt = 2
    again = writes.training(1, made_up([0, 1]), {0: []}, {})
    assert again is not None
    assert again.path == "trajectories/train/step_1.2.jsonl.zst"
