"""Checkpoints that are written while training goes on are the same, are never read half written, and fail the run if
they fail."""

from __future__ import annotations

import json
import os
import signal
import threading
import time
from collections.abc import Callable
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import pytest
import torch

from engine.events import Event
from engine.main_memory import free_memory
from engine.policies.loading import load_model
from engine.training import background_save, checkpoint
from engine.training.background_save import BackgroundSaves
from engine.training.checkpoint_folder import checkpoints, is_valid
from engine.training.checkpoint_state import LiveState, Progress, files_below
from engine.training.learner import Learner
from engine.training.session import EXIT_DONE, EXIT_FAILED, EXIT_INTERRUPTED, train
from engine.training.state_copies import bytes_to_copy, copied_state
from tests.engine.models import save_small_model, small_model, words
from tests.engine.training.builders import learner_config, made_up_batch, update
from tests.engine.training.during_a_run import wait_for_step
from tests.engine.training.test_runs import events_of, run_config, steps_of
from tests.engine.training.together import start_alone

ALWAYS, NEVER = ({"every": 1, "keep": 9, "background": background} for background in ("always", "never"))
QUIET = {"every": 0, "at_start": False, "final_episodes": 4}
LORA = {"lora": {"rank": 4, "alpha": 8.0}}
MADE_BY_CLOCK = {"progress.json", "manifest.json"}  # which has the digest of the other


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_small_model(tmp_path_factory.mktemp("model"))


def saved_in(directory: Path) -> dict[str, bytes]:
    folder = directory / "checkpoints"
    return {str(file.relative_to(folder)): file.read_bytes() for file in files_below(folder)}


@pytest.mark.parametrize(
    ("algorithm", "lora", "optimizer"),
    [
        ("grpo", {}, {}),
        ("ppo", {}, {"ema_decay": 0.9}),
        ("grpo", LORA, {"ema_decay": 0.9}),
        ("ppo", LORA, {}),
    ],
    ids=["plain", "critic and average", "adapter and average", "critic and adapter"],
)
def test_checkpoints_and_metrics_are_the_same_to_the_bit_whichever_way_they_are_written(
    model: Path, tmp_path: Path, algorithm: str, lora: dict[str, Any], optimizer: dict[str, Any]
) -> None:
    for name, section in (("always", ALWAYS), ("never", NEVER)):
        config = run_config(
            model,
            steps=3,
            algorithm={"type": algorithm},
            model={"path": str(model), **lora},
            optimizer=optimizer,
            checkpoint=section,
        )
        assert train(config, tmp_path / name) == EXIT_DONE
    one, other = saved_in(tmp_path / "always"), saved_in(tmp_path / "never")
    assert one.keys() == other.keys() and "step_1/learner.pt" in one
    assert [name for name in one if one[name] != other[name] and Path(name).name not in MADE_BY_CLOCK] == []
    for step in (1, 2, 3):
        counters = [json.loads(files[f"step_{step}/progress.json"]) for files in (one, other)]
        assert {**counters[0], "seconds": 0} == {**counters[1], "seconds": 0}
    assert steps_of(tmp_path / "always") == steps_of(tmp_path / "never")
    kept = [
        [
            (event.step, event.kept, event.best)
            for event in events_of(tmp_path / name)
            if event.kind == "checkpoint_saved"
        ]
        for name in ("always", "never")
    ]
    assert kept[0] == kept[1] and len(kept[0]) == 3


def test_a_run_resumes_exactly_from_a_checkpoint_written_in_the_background(model: Path, tmp_path: Path) -> None:
    config = run_config(model, checkpoint=ALWAYS)
    train(config, tmp_path / "whole")
    train(config.model_copy(update={"steps": 2}), tmp_path / "parts")
    train(config, tmp_path / "parts", resume=True)
    assert steps_of(tmp_path / "parts") == steps_of(tmp_path / "whole")


class Held:
    """Holds each write back until the run begins the phase of a step, or has ended."""

    def __init__(self, phase: str, step: int, then: Callable[[], None] = lambda: None) -> None:
        self.phase, self.step, self.then = phase, step, then
        self.reached = threading.Event()

    def hear(self, event: Event) -> None:
        if event.kind == "phase_changed" and event.phase == self.phase and event.step == self.step:
            self.then()
            self.reached.set()

    def install(self, monkeypatch: pytest.MonkeyPatch) -> None:
        write = checkpoint.save

        def save(*arguments: Any) -> Path:
            assert self.reached.wait(timeout=60), "training waited for the write"
            return write(*arguments)

        monkeypatch.setattr(checkpoint, "save", save)


def test_training_goes_on_meanwhile_and_the_checkpoint_is_reported_once_it_is_complete(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    held = Held("update", 3)
    held.install(monkeypatch)
    complete: list[bool] = []

    def look(event: Event) -> None:
        if event.kind == "checkpoint_saved":
            complete.append(is_valid(tmp_path / event.path))

    config = run_config(model, evaluation=QUIET, checkpoint={**ALWAYS, "every": 2})
    assert train(config, tmp_path, sinks=[held.hear, look]) == EXIT_DONE
    order = [
        (event.kind, event.step)
        for event in events_of(tmp_path)
        if event.kind in ("step_completed", "checkpoint_saved")
    ]
    assert order.index(("checkpoint_saved", 2)) > order.index(("step_completed", 3))
    assert complete == [True, True]


def test_an_interrupted_run_ends_only_when_its_checkpoint_is_complete(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    held = Held("rollout", 3, then=lambda: os.kill(os.getpid(), signal.SIGTERM))
    held.install(monkeypatch)
    config = run_config(model, evaluation=QUIET, checkpoint={**ALWAYS, "every": 2})
    assert train(config, tmp_path, sinks=[held.hear]) == EXIT_INTERRUPTED
    assert [path.name for path in checkpoints(tmp_path / "checkpoints")] == ["step_2"]
    assert [(event.step, event.reason) for event in events_of(tmp_path) if event.kind == "checkpoint_saved"] == [
        (2, "schedule")
    ]


def test_a_run_pauses_only_when_its_checkpoint_is_complete(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    held = Held("checkpoint", 3)  # which it announces to wait for the write of step 2
    held.install(monkeypatch)

    def pause(event: Event) -> None:
        if event.kind == "phase_changed" and (event.phase, event.step) == ("rollout", 3):
            (tmp_path / "control.json").write_text(json.dumps({"request": "pause", "epoch": 0}))
        if event.kind == "phase_changed" and event.phase == "paused":
            (tmp_path / "control.json").write_text(json.dumps({"request": "run", "epoch": 0}))

    config = run_config(model, evaluation=QUIET, checkpoint={**ALWAYS, "every": 2})
    assert train(config, tmp_path, sinks=[held.hear, pause]) == EXIT_DONE
    order = [(event.kind, event.step, getattr(event, "phase", "")) for event in events_of(tmp_path)]
    assert order.index(("checkpoint_saved", 2, "")) == order.index(("phase_changed", 3, "paused")) - 1


def test_a_run_that_fails_keeps_the_checkpoint_in_progress(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail() -> None:
        held.reached.set()
        raise RuntimeError("a kernel failed")

    held = Held("update", 3, then=fail)
    held.install(monkeypatch)
    config = run_config(model, evaluation=QUIET, checkpoint={**ALWAYS, "every": 2})
    assert train(config, tmp_path, sinks=[held.hear]) == EXIT_FAILED
    events = events_of(tmp_path)
    assert [(event.kind, event.step) for event in events[-2:]] == [("checkpoint_saved", 2), ("run_failed", 2)]
    assert events[-1].message == "a kernel failed"


@pytest.mark.parametrize("section", [ALWAYS, NEVER], ids=["background", "waiting"])
def test_a_write_that_fails_fails_the_run(model: Path, tmp_path: Path, section: dict[str, Any]) -> None:
    (tmp_path / "checkpoints").mkdir()
    (tmp_path / "checkpoints/.step_2.part").write_text("a file where the folder is to be")
    assert train(run_config(model, evaluation=QUIET, checkpoint={**section, "every": 2}), tmp_path) == EXIT_FAILED
    failure = events_of(tmp_path)[-1]
    assert (failure.error, failure.retryable) == ("FileExistsError", False)
    assert max(steps_of(tmp_path)) < 4 and not checkpoints(tmp_path / "checkpoints")


def train_long(model: Path, directory: Path) -> None:
    train(
        run_config(model, steps=400, checkpoint={**ALWAYS, "keep": 1}, evaluation=QUIET, capture={"every": 0}),
        directory,
    )


def stop_while_writing(process: BaseProcess, folder: Path) -> Path:
    """Halts the engine while a checkpoint is being written; returns the folder that it has left."""
    deadline = time.monotonic() + 120
    assert process.pid is not None
    while time.monotonic() < deadline:
        assert process.is_alive(), "the engine ended"
        if not list(folder.glob(".step_*.part")):
            time.sleep(0.001)
            continue
        os.kill(process.pid, signal.SIGSTOP)
        time.sleep(0.05)
        if found := list(folder.glob(".step_*.part")):
            return found[0]
        os.kill(process.pid, signal.SIGCONT)
    raise AssertionError("no write was met")


@pytest.mark.slow
def test_an_engine_killed_while_it_writes_resumes_from_the_checkpoint_before(tmp_path: Path) -> None:
    model = tmp_path / "model"
    small_model(width=256).save_pretrained(model)
    words().save_pretrained(model)
    directory = tmp_path / "run"
    process = start_alone(train_long, model, directory)
    try:
        wait_for_step(directory, 3, process)
        part = stop_while_writing(process, directory / "checkpoints")
    finally:
        process.kill()
        process.join()
    assert process.exitcode == -signal.SIGKILL
    torn = int(part.name.removeprefix(".step_").removesuffix(".part"))
    there = [path.name for path in checkpoints(directory / "checkpoints")]
    assert there and f"step_{torn}" not in there and all(is_valid(directory / "checkpoints" / name) for name in there)
    steps = max(steps_of(directory)) + 2
    config = run_config(model, steps=steps, checkpoint=ALWAYS, evaluation=QUIET, capture={"every": 0})
    assert train(config, directory, resume=True) == EXIT_DONE
    begun = [event for event in events_of(directory) if event.kind == "run_started"]
    assert f"step_{begun[-1].resumed_from}" == there[-1]
    assert not list(directory.rglob("*.part"))
    assert sorted(steps_of(directory)) == list(range(1, steps + 1))


def trained_learner(**sections: Any) -> Learner:
    learner = Learner(small_model(), learner_config(**sections))
    update(learner, made_up_batch())
    return learner


def test_training_on_changes_nothing_of_the_copy(tmp_path: Path) -> None:
    learner = trained_learner(optimizer={"ema_decay": 0.9}, algorithm={"type": "ppo"})
    progress = Progress(step=1, held_out={"1": 0.5})
    progress.problems.add([7])
    before = checkpoint.save(tmp_path / "before", words(), LiveState(learner, progress))
    copy = copied_state(learner, progress)
    update(learner, made_up_batch(seed=1))
    progress.held_out["2"] = 0.6
    progress.problems.add([8])
    after = checkpoint.save(tmp_path / "after", words(), copy)
    assert [file.read_bytes() for file in files_below(before)] == [file.read_bytes() for file in files_below(after)]


def test_a_copy_takes_the_bytes_that_are_asked_for() -> None:
    # 4 bytes for each of n weights, their two moments, and 4 of each tensor's counter of steps
    learner = trained_learner()
    weights = list(learner.model.parameters())
    assert bytes_to_copy(learner) == 4 * 3 * sum(weight.numel() for weight in weights) + 4 * len(weights)


@pytest.mark.parametrize(
    ("background", "parameters", "free", "expected"),
    [
        ("auto", 50_000_000, 1 << 40, False),  # small: this model has fewer
        ("auto", 0, 1 << 40, True),
        ("auto", 0, 1000, False),  # bytes, too few for the copy
        ("always", 50_000_000, 1000, True),
        ("never", 0, 1 << 40, False),
    ],
)
def test_large_models_that_main_memory_has_room_for_are_written_in_the_background(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, background: str, parameters: int, free: int, expected: bool
) -> None:
    monkeypatch.setattr(background_save, "MANY_PARAMETERS", parameters)
    monkeypatch.setattr(background_save, "free_memory", lambda: free)
    learner = trained_learner(checkpoint={"background": background})
    write = BackgroundSaves(learner, words()).start(tmp_path, Progress(step=1))
    assert (write is not None) is expected
    if write is not None:
        assert is_valid(write.result()) and write.done()


def test_a_write_that_failed_is_made_again_from_the_same_copy(tmp_path: Path) -> None:
    learner = trained_learner(checkpoint={"background": "always"})
    (tmp_path / ".step_1.part").write_text("a file where the folder is to be")
    write = BackgroundSaves(learner, words()).start(tmp_path, Progress(step=1))
    assert write is not None
    with pytest.raises(FileExistsError):
        write.result()
    before = {name: weight.clone() for name, weight in learner.model.state_dict().items()}
    update(learner, made_up_batch(seed=1))
    (tmp_path / ".step_1.part").unlink()
    state = load_model(str(write.result() / "model"))[0].state_dict()
    assert all(torch.equal(state[name], weight) for name, weight in before.items())


def test_a_containers_limit_counts_and_its_cached_files_are_free(tmp_path: Path) -> None:
    for name, text in (
        ("memory.max", "1000"),
        ("memory.current", "700"),
        ("memory.stat", "anon 400\ninactive_file 200"),
    ):
        (tmp_path / name).write_text(text)
    assert free_memory(tmp_path) == 1000 - 700 + 200
    (tmp_path / "memory.max").write_text("max")
    assert free_memory(tmp_path) > 1000
