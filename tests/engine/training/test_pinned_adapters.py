"""A run keeps its own copy of the adapter that it starts from, and says what to do when its model is gone."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from engine.config import RunConfig
from engine.starting_adapter import copy_adapter, given_adapter, pin_adapter, take_copy, with_pinned_adapter
from engine.training.checkpoint_settings import weight_settings
from engine.training.session import EXIT_DONE, EXIT_FAILED, train
from tests.engine.adapters import configured, save_small_adapter
from tests.engine.models import save_small_model
from tests.engine.training.test_runs import events_of


@pytest.fixture
def base(tmp_path: Path) -> Path:
    return save_small_model(tmp_path / "base")


@pytest.fixture
def adapter(tmp_path: Path) -> Path:
    return save_small_adapter(tmp_path / "adapter")


def test_a_copy_stands_for_the_adapter_that_the_configuration_gives(base: Path, adapter: Path, tmp_path: Path) -> None:
    config, run = configured(base, adapter), tmp_path / "run"
    assert with_pinned_adapter(config, run) is config
    pinned = pin_adapter(config, run, again=False)
    assert pinned.model.adapter == str(run / "start/adapter")
    assert given_adapter(pinned.model.adapter) == given_adapter(str(adapter)) == str(adapter)
    assert weight_settings(pinned) == weight_settings(config)

    run.rename(tmp_path / "moved")
    shutil.rmtree(adapter)
    moved = pin_adapter(config, tmp_path / "moved", again=False)
    assert moved.model.adapter == str(tmp_path / "moved/start/adapter")
    assert weight_settings(moved) == weight_settings(config)


def test_another_adapter_or_a_new_beginning_replaces_the_copy(base: Path, adapter: Path, tmp_path: Path) -> None:
    run, weights = tmp_path / "run", "adapter_model.safetensors"
    pin_adapter(configured(base, adapter), run, again=False)
    (adapter / weights).write_bytes(b"changed in place")
    assert (run / "start/adapter" / weights).read_bytes() != b"changed in place"
    pin_adapter(configured(base, adapter), run, again=False)
    assert (run / "start/adapter" / weights).read_bytes() != b"changed in place"
    pin_adapter(configured(base, adapter), run, again=True)
    assert (run / "start/adapter" / weights).read_bytes() == b"changed in place"

    other = configured(base, shutil.copytree(adapter, tmp_path / "other"))
    assert with_pinned_adapter(other, run) is other
    assert given_adapter(pin_adapter(other, run, again=False).model.adapter) == str(tmp_path / "other")


def test_a_first_start_keeps_the_adapter_that_the_run_was_launched_with(
    base: Path, adapter: Path, tmp_path: Path
) -> None:
    config, run, copy = configured(base, adapter), tmp_path / "run", tmp_path / "run/start/adapter"
    assert copy_adapter(str(adapter), tmp_path / "copy")
    take_copy(tmp_path / "copy", run)
    given = (adapter / "adapter_model.safetensors").read_bytes()
    (adapter / "adapter_model.safetensors").write_bytes(b"changed while the run waited")
    assert pin_adapter(config, run, again=True).model.adapter == str(copy)
    shutil.rmtree(adapter)
    assert pin_adapter(config, run, again=True).model.adapter == str(copy)
    assert (copy / "adapter_model.safetensors").read_bytes() == given

    other = configured(base, save_small_adapter(tmp_path / "other"))
    assert given_adapter(pin_adapter(other, run, again=True).model.adapter) == str(tmp_path / "other")


@pytest.mark.parametrize("name", ["/nowhere/gone", "~nobody-of-that-name/adapter"])
def test_an_adapter_that_does_not_exist_is_left_to_the_checks(base: Path, tmp_path: Path, name: str) -> None:
    config = configured(base, name)
    assert pin_adapter(config, tmp_path / "run", again=True) is config
    assert not (tmp_path / "run").exists()


@pytest.mark.slow
@pytest.mark.parametrize("rank", [0, 4])
def test_a_run_resumes_exactly_when_the_directory_of_its_adapter_is_gone(
    base: Path, adapter: Path, tmp_path: Path, rank: int
) -> None:
    def config(steps: int) -> RunConfig:
        changes = {"loss": {"kl_coefficient": 0.1}, "checkpoint": {"every": 1}}
        return configured(base, adapter, rank=rank, steps=steps, **changes)

    assert train(config(2), tmp_path / "whole") == EXIT_DONE
    assert train(config(1), tmp_path / "parts") == EXIT_DONE
    shutil.rmtree(adapter)
    assert train(config(2), tmp_path / "parts", resume=True) == EXIT_DONE
    file = "checkpoints/step_2/model/model.safetensors"
    whole, parts = (load_file(tmp_path / name / file) for name in ("whole", "parts"))
    assert all(torch.equal(whole[name], parts[name]) for name in whole)


@pytest.mark.slow
def test_a_run_whose_model_is_gone_says_what_to_do(base: Path, adapter: Path, tmp_path: Path) -> None:
    config = configured(base, adapter, checkpoint={"every": 1})
    assert train(config.model_copy(update={"steps": 1}), tmp_path / "run") == EXIT_DONE
    shutil.rmtree(base)
    assert train(config, tmp_path / "run", resume=True) == EXIT_FAILED
    failure = events_of(tmp_path / "run")[-1]
    assert failure.message == f"The model directory {base} does not exist, and the run needs it to resume."
    assert failure.remedy == (
        "Put the model back there and resume, or fork from step_1 of this run: a checkpoint holds the whole model, "
        "with the adapter merged."
    )
