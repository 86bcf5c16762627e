"""Runs that start from another run's checkpoint: what they take, what they keep, and what they refuse."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from engine.errors import CheckpointError
from engine.forking import find_checkpoint, pin_start
from engine.training.backend import LocalBackend
from engine.training.session import EXIT_DONE, EXIT_FAILED, train
from tests.engine.models import save_small_model
from tests.engine.training.test_runs import events_of, run_config, steps_of

QUIET = {"every": 0, "at_start": False, "final_episodes": 4}


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_small_model(tmp_path_factory.mktemp("model"))


@pytest.fixture(scope="module")
def runs(model: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of runs with one in it, `parent`, with checkpoints of steps 2 and 4."""
    folder = tmp_path_factory.mktemp("runs")
    train(run_config(model, evaluation=QUIET), folder / "parent")
    return folder


def fork_of(model: Path, step: int = 2, run: str = "parent", **changes: Any) -> Any:
    start = {"run": run, "step": step, "optimizer": changes.pop("optimizer_state", True)}
    lora = changes.pop("lora", {})
    base = {"steps": 1, "evaluation": QUIET, "model": {"path": str(model), "start_from": start, "lora": lora}}
    return run_config(model, **{**base, **changes})


def learner_state(directory: Path, step: int) -> Any:
    return torch.load(directory / f"checkpoints/step_{step}/learner.pt", weights_only=True)["optimizer"]


def test_a_fork_starts_with_the_checkpoint_s_weights_and_optimiser_and_counts_its_own_steps(
    model: Path, runs: Path
) -> None:
    assert train(fork_of(model), runs / "fork") == EXIT_DONE
    assert list(steps_of(runs / "fork")) == [1]
    [started] = [event for event in events_of(runs / "fork") if event.kind == "run_started"]
    assert started.model == str(model)
    assert started.start == (
        "Starts with the weights of step 2 of parent and its optimiser state, with this run's learning rate and "
        "weight decay."
    )
    # two updates a step: AdamW has counted 4 in the parent's two steps, and 2 more in the fork's one
    assert float(learner_state(runs / "fork", 1)["state"][0]["step"]) == 6.0


def test_a_fork_with_a_learning_rate_of_almost_nothing_keeps_the_weights(model: Path, runs: Path) -> None:
    still = {"learning_rate": 1e-12, "weight_decay": 0.0}
    train(fork_of(model, optimizer=still), runs / "still")
    ours = load_file(runs / "still/checkpoints/step_1/model/model.safetensors")
    theirs = load_file(runs / "parent/checkpoints/step_2/model/model.safetensors")
    for name, weight in ours.items():
        torch.testing.assert_close(weight, theirs[name], atol=1e-9, rtol=0)
    [group] = learner_state(runs / "still", 1)["param_groups"]
    assert (group["lr"], group["weight_decay"]) == (1e-12, 0.0)  # its own, not its parent's


def test_without_the_optimiser_s_state_it_starts_fresh_and_says_so(model: Path, runs: Path) -> None:
    train(fork_of(model, optimizer_state=False), runs / "fresh")
    assert float(learner_state(runs / "fresh", 1)["state"][0]["step"]) == 2.0
    assert "the optimiser state is not taken over, as configured" in events_of(runs / "fresh")[0].start


def test_a_fork_with_an_adapter_starts_a_new_one(model: Path, runs: Path) -> None:
    assert train(fork_of(model, lora={"rank": 2}), runs / "adapter") == EXIT_DONE
    assert "LoRA's update merged" in events_of(runs / "adapter")[0].start


def test_a_critic_that_the_parent_has_not_starts_fresh(model: Path, runs: Path) -> None:
    assert train(fork_of(model, algorithm={"type": "ppo"}), runs / "critic") == EXIT_DONE


def test_a_fork_outlives_its_parent_resumes_and_is_forked_again(model: Path, tmp_path: Path) -> None:
    train(run_config(model, evaluation=QUIET, steps=2), tmp_path / "parent")
    config = fork_of(model, steps=2, checkpoint={"every": 1})
    train(config.model_copy(update={"steps": 1}), tmp_path / "fork")
    shutil.rmtree(tmp_path / "parent")
    assert train(config, tmp_path / "fork", resume=True) == EXIT_DONE
    assert list(steps_of(tmp_path / "fork")) == [1, 2]
    assert train(fork_of(model, step=2), tmp_path / "same_start") == EXIT_DONE
    assert train(fork_of(model, step=1, run="fork"), tmp_path / "grandchild") == EXIT_DONE


def test_two_forks_of_one_configuration_are_one_run(model: Path, runs: Path) -> None:
    for name in ("one", "other"):
        train(fork_of(model, steps=2), runs / name)
    assert steps_of(runs / "one") == steps_of(runs / "other")


def test_a_step_without_a_checkpoint_is_refused_with_those_that_are_there(model: Path, runs: Path) -> None:
    with pytest.raises(CheckpointError, match=r"no checkpoint of step 3 of the run parent.*steps 2, 4"):
        find_checkpoint(runs, "parent", 3)
    assert train(fork_of(model, step=3), runs / "nowhere") == EXIT_FAILED
    assert events_of(runs / "nowhere")[-1].error == "CheckpointError"


def test_a_damaged_checkpoint_is_refused(model: Path, tmp_path: Path) -> None:
    train(run_config(model, evaluation=QUIET, steps=2), tmp_path / "parent")
    weights = tmp_path / "parent/checkpoints/step_2/model/model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-1])
    assert train(fork_of(model), tmp_path / "fork") == EXIT_FAILED
    assert "is damaged" in events_of(tmp_path / "fork")[-1].message


def test_a_link_out_of_the_folder_of_runs_is_not_followed(model: Path, tmp_path: Path, runs: Path) -> None:
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs/parent").symlink_to(runs / "parent")
    with pytest.raises(CheckpointError, match="no checkpoint of step 2"):
        pin_start(fork_of(model), tmp_path / "runs/fork")


@pytest.mark.parametrize("run", ["../parent", "/etc", "a/b", ".", "..", "-x"])
def test_a_run_is_named_and_never_a_path(model: Path, run: str) -> None:
    from engine.errors import ConfigError

    with pytest.raises(ConfigError, match=r"model\.start_from\.run"):
        fork_of(model, run=run)


def test_a_fork_that_fails_after_its_backend_was_opened_closes_it(
    model: Path, runs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    closed: list[LocalBackend] = []

    def fail(self: LocalBackend, path: Path) -> None:
        raise CheckpointError("The optimiser's state is unreadable.", remedy="None.")

    monkeypatch.setattr(LocalBackend, "warm_start", fail)
    monkeypatch.setattr(LocalBackend, "close", lambda self: closed.append(self))
    assert train(fork_of(model), runs / "unfinished") == EXIT_FAILED
    assert len(closed) == 1
