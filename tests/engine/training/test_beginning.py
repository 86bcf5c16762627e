"""Where a resumed run begins: from its newest good checkpoint, and never at step 0 over what was recorded."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from engine.errors import CheckpointError
from engine.events import MACHINES
from engine.training.beginning import find_beginning
from engine.training.checkpoint_folder import GoodCheckpoints, checkpoints, damage_of, prune
from engine.training.run_directory import RunDirectory
from engine.training.session import EXIT_DONE, EXIT_FAILED, train
from tests.engine.models import save_small_model
from tests.engine.training.test_runs import events_of, run_config, steps_of

QUIET = {"every": 0, "at_start": False, "final_episodes": 1}


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_small_model(tmp_path_factory.mktemp("model"))


@pytest.fixture(scope="module")
def trained(model: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three steps, with a checkpoint of each."""
    directory = tmp_path_factory.mktemp("trained")
    config = run_config(model, steps=3, evaluation=QUIET, checkpoint={"every": 1, "keep": 3})
    assert train(config, directory) == EXIT_DONE
    return directory


@pytest.fixture
def run(trained: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(trained, tmp_path / "run"))


def damage(run: Path, step: int) -> None:
    """Flips one bit of the weights."""
    weights = run / f"checkpoints/step_{step}/model/model.safetensors"
    data = bytearray(weights.read_bytes())
    data[-1] ^= 1
    weights.write_bytes(data)


def beginning_of(run: Path, *, every: int = 1) -> str:
    directory = RunDirectory(run)
    try:
        found = find_beginning(directory, every=every)
    finally:
        directory.close()
    return found.checkpoint.name if found.checkpoint else ""


def forget_checkpoints(run: Path) -> None:
    """As if the run had been killed before it saved any."""
    shutil.rmtree(run / "checkpoints")
    lines = (run / "events.jsonl").read_text().splitlines(keepends=True)
    (run / "events.jsonl").write_text("".join(line for line in lines if '"checkpoint_saved"' not in line))


def test_a_run_continues_from_its_newest_good_checkpoint_and_says_which_are_damaged(model: Path, run: Path) -> None:
    damage(run, 3)
    assert beginning_of(run) == "step_2"
    config = run_config(model, steps=4, evaluation=QUIET, checkpoint={"every": 1, "keep": 3})
    assert train(config, run, resume=True) == EXIT_DONE
    (alert,) = [event for event in events_of(run) if event.kind == "alert_raised" and event.rule == MACHINES]
    assert "Continues from step_2" in alert.message
    assert "step_3 (model/model.safetensors has changed since it was written)" in alert.message


def test_a_run_without_a_good_checkpoint_does_not_begin_again_and_keeps_its_record(model: Path, run: Path) -> None:
    for step in (1, 2, 3):
        damage(run, step)
    recorded, files = steps_of(run), sorted(run.rglob("*.zst"))
    contents = [file.read_bytes() for file in files]
    config = run_config(model, steps=4, evaluation=QUIET, checkpoint={"every": 1, "keep": 3})
    assert train(config, run, resume=True) == EXIT_FAILED
    failure = events_of(run)[-1]
    assert failure.error == "NoGoodCheckpoint"
    assert "step_1 (model/model.safetensors has changed" in failure.message
    assert "would repeat 3 recorded steps" in failure.message
    assert "clone" in failure.remedy
    assert steps_of(run) == recorded
    assert [file.read_bytes() for file in files] == contents


def test_a_run_without_a_good_checkpoint_starts_over_on_request_and_keeps_what_it_recorded(
    model: Path, run: Path
) -> None:
    for step in (1, 2, 3):
        damage(run, step)
    former = (run / "events.jsonl").read_bytes()
    files = {file: file.read_bytes() for file in run.rglob("*.zst")}
    config = run_config(model, steps=1, evaluation=QUIET, checkpoint={"every": 1, "keep": 3})
    assert train(config, run, resume=True, start_over=True) == EXIT_DONE
    assert (run / "events.jsonl").read_bytes().startswith(former)
    assert {file: file.read_bytes() for file in files} == files
    assert sorted(path.name for path in (run / "damaged_checkpoints").iterdir()) == ["step_1", "step_2", "step_3"]
    assert beginning_of(run) == "step_1"


def test_a_run_that_started_over_is_judged_by_what_it_did_since(model: Path, run: Path) -> None:
    """Killed before its first checkpoint, it begins again as any other run does."""
    for step in (1, 2, 3):
        damage(run, step)
    config = run_config(model, steps=1, evaluation=QUIET, checkpoint={"every": 1, "keep": 3})
    assert train(config, run, resume=True, start_over=True) == EXIT_DONE
    forget_checkpoints(run)
    assert beginning_of(run, every=1) == ""


def test_a_run_with_a_good_checkpoint_continues_from_it_even_if_it_is_to_start_over(run: Path) -> None:
    damage(run, 3)
    directory = RunDirectory(run)
    try:
        found = find_beginning(directory, every=1, start_over=True)
    finally:
        directory.close()
    assert found.checkpoint is not None and found.checkpoint.name == "step_2"


def test_a_run_whose_checkpoints_were_deleted_does_not_begin_again(run: Path) -> None:
    shutil.rmtree(run / "checkpoints")
    with pytest.raises(CheckpointError, match="All checkpoints of this run are missing"):
        beginning_of(run)


def test_a_run_that_was_killed_before_its_first_scheduled_checkpoint_begins_again(run: Path) -> None:
    forget_checkpoints(run)
    assert beginning_of(run, every=3) == ""


@pytest.mark.parametrize(
    ("background", "every", "expected"),
    [("always", 2, EXIT_DONE), ("always", 1, EXIT_FAILED), ("never", 2, EXIT_FAILED)],
)
def test_a_run_that_was_killed_while_it_wrote_its_first_checkpoint_in_the_background_begins_again(
    model: Path, run: Path, background: str, every: int, expected: int
) -> None:
    """After 3 steps: that of step 2 may still have been in progress, and that of step 1 cannot."""
    forget_checkpoints(run)
    section = {"every": every, "background": background}
    config = run_config(model, steps=3, evaluation=QUIET, checkpoint=section)
    assert train(config, run, resume=True) == expected


@pytest.mark.parametrize("every", [0, 2])
def test_a_run_that_would_lose_more_than_the_steps_between_two_checkpoints_does_not(run: Path, every: int) -> None:
    forget_checkpoints(run)
    with pytest.raises(CheckpointError, match=r"saved no checkpoint.*repeat 3 recorded steps"):
        beginning_of(run, every=every)


def test_what_an_interrupted_save_left_is_removed(run: Path) -> None:
    part = run / "checkpoints/.step_7.part"
    part.mkdir()
    (part / "model.safetensors").write_bytes(b"0" * 100)
    assert beginning_of(run) == "step_3"
    assert not part.exists()


@pytest.mark.parametrize(
    ("file", "data", "what"),
    [
        ("manifest.json", None, "manifest.json is missing"),
        ("manifest.json", b"[]", "its files cannot be read"),
        ("progress.json", None, "progress.json is missing"),
        ("progress.json", b"{}", "progress.json has changed since it was written"),
    ],
)
def test_damage_is_described_by_its_file(run: Path, file: str, data: bytes | None, what: str) -> None:
    path = run / "checkpoints/step_1" / file
    path.unlink() if data is None else path.write_bytes(data)
    assert what in damage_of(path.parent)


def test_damaged_checkpoints_do_not_push_good_ones_out(run: Path) -> None:
    """Two are kept. Steps 2 and 3 are damaged: step 1 is the only good one, and stays until two good ones follow."""
    damage(run, 2)
    damage(run, 3)
    folder, good = run / "checkpoints", GoodCheckpoints()

    def left() -> list[str]:
        prune(folder, newest=2, before=(), held_out={}, good=good)
        return [path.name for path in checkpoints(folder)]

    assert left() == ["step_1", "step_2", "step_3"]
    shutil.copytree(folder / "step_1", folder / "step_4")
    assert left() == ["step_1", "step_2", "step_3", "step_4"]
    shutil.copytree(folder / "step_1", folder / "step_5")
    assert left() == ["step_4", "step_5"]


def test_a_checkpoint_that_is_damaged_after_it_was_verified_is_found_out(run: Path) -> None:
    good = GoodCheckpoints()
    path = run / "checkpoints/step_3"
    assert path in good
    damage(run, 3)
    assert path not in good
