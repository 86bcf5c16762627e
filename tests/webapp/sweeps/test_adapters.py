"""All runs of a sweep start from the adapter as it was when the sweep was created."""

from __future__ import annotations

import os
import shutil
import tarfile
import time
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from pytest_django import Settings

from engine.config import RunConfig
from tests.engine.adapters import save_small_adapter
from tests.engine.models import save_small_model
from tests.webapp.sweeps.sweeping import end, finish, queued
from tests.webapp.sweeps.test_pages import form
from webapp.adapter_copies import FOLDER
from webapp.runs.models import Run
from webapp.runs.states import RunState
from webapp.sweeps.adapters import ORPHANED_SECONDS, remove_unused_copies
from webapp.sweeps.advancing import advance_all
from webapp.sweeps.drafts import draft
from webapp.sweeps.models import Sweep
from webapp.sweeps.services import create, extend, resume
from workers.backup import back_up

pytestmark = pytest.mark.django_db

WEIGHTS = "adapter_model.safetensors"


@pytest.fixture
def adapters(settings: Settings, tmp_path: Path) -> list[Path]:
    settings.STARBOARD_MODEL_FOLDERS = [tmp_path / "models"]
    save_small_model(tmp_path / "models/base")
    return [save_small_adapter(tmp_path / "models" / name) for name in ("one", "other")]


def a_sweep(user: User, adapter: Path, **plan: Any) -> Sweep:
    """One run at once."""
    model = {"path": str(adapter.parent / "base"), "adapter": str(adapter)}
    base = RunConfig.model_validate({"steps": 4, "model": model})
    made = draft(base, {"axes": [], "seeds": [1, 2, 3], **plan})
    return create(made, base=base, owner=user)


def weights_of(run: Run) -> bytes:
    return (run.directory / "start/adapter" / WEIGHTS).read_bytes()


def copies(runs: Path) -> list[Path]:
    return sorted((runs / FOLDER).iterdir()) if (runs / FOLDER).exists() else []


def test_runs_that_are_launched_after_the_directory_was_changed_start_from_the_same_weights(
    user: User, adapters: list[Path]
) -> None:
    file = adapters[0] / WEIGHTS
    given = file.read_bytes()
    sweep = a_sweep(user, adapters[0])
    file.write_bytes(b"changed in place")
    end(queued(sweep)[0], RunState.FINISHED)
    advance_all()
    file.unlink()
    finish(sweep)
    runs = Run.objects.filter(planned__sweep=sweep)
    assert [weights_of(run) for run in runs] == [given] * 3
    assert {run.config["model"]["adapter"] for run in runs} == {str(adapters[0])}


def test_adapters_that_an_axis_compares_are_copied_at_creation_and_further_ones_when_it_is_extended(
    user: User, adapters: list[Path], runs_directory: Path
) -> None:
    given = [(adapter / WEIGHTS).read_bytes() for adapter in adapters]
    axis = {"type": "values", "field": "model.adapter", "values": [str(adapters[0])]}
    sweep = a_sweep(user, adapters[1], axes=[axis], seeds=[1])  # no run has the adapter of the base
    assert [*sweep.adapters] == [str(adapters[0])] and len(copies(runs_directory)) == 1
    larger = {**sweep.plan, "axes": [{**axis, "values": [str(adapter) for adapter in adapters]}]}
    assert extend(sweep, lambda _: larger) == 1
    assert [*sweep.adapters] == [str(adapter) for adapter in adapters]
    for adapter in adapters:
        (adapter / WEIGHTS).write_bytes(b"changed in place")
    finish(sweep)
    assert [weights_of(run) for run in Run.objects.order_by("planned__order")] == given


def test_the_form_keeps_the_adapter_of_its_base_and_the_page_of_the_sweep_names_it(
    browser: Client, adapters: list[Path], runs_directory: Path
) -> None:
    base = a_sweep(User.objects.get(), adapters[0])
    opened = browser.get(f"/sweeps/new/?sweep={base.pk}")
    assert f"<dt>Adapter</dt><dd>{adapters[0]}</dd>" in opened.content.decode()
    carried = opened.context["form"].base_json
    refused = browser.post("/sweeps/new/", form(base=carried, seeds="none"))
    assert refused.status_code == 422 and refused.context["form"].base_json == carried
    made = browser.post("/sweeps/new/", form(base=carried, seeds="1-3"))
    assert f"with the adapter {adapters[0]}" in browser.get(made["Location"]).content.decode()
    assert [*Sweep.objects.get(name="mine").adapters] == [str(adapters[0])]
    assert len(copies(runs_directory)) == 2  # one of each sweep


def test_a_run_is_not_launched_from_other_weights_when_the_copy_of_its_sweep_is_gone(
    user: User, adapters: list[Path], runs_directory: Path
) -> None:
    sweep = a_sweep(user, adapters[0])
    kept = copies(runs_directory)[0]
    kept.rename(runs_directory / "elsewhere")
    finish(sweep)
    assert [row.run is not None for row in sweep.planned.all()] == [True, False, False]
    assert "restore it from a backup" in sweep.planned.all()[1].problem
    (runs_directory / "elsewhere").rename(kept)
    assert resume(sweep) == 2
    finish(sweep)
    assert Run.objects.filter(state=RunState.FINISHED).count() == 3


def test_a_backup_has_the_copy_from_which_a_restored_sweep_goes_on(
    user: User, adapters: list[Path], runs_directory: Path, tmp_path: Path
) -> None:
    """One of three runs was launched before it. The directory of the adapter is in no backup."""
    sweep = a_sweep(user, adapters[0])
    given = (adapters[0] / WEIGHTS).read_bytes()
    back_up(tmp_path / "backup.tar", checkpoints=False)
    shutil.rmtree(runs_directory)
    shutil.rmtree(adapters[0])
    with tarfile.open(tmp_path / "backup.tar") as archive:  # as `restore` does, in the same database
        archive.extractall(tmp_path / "restored", filter="data")
    (tmp_path / "restored/runs").rename(runs_directory)
    finish(sweep)
    runs = Run.objects.filter(planned__sweep=sweep)
    assert [weights_of(run) for run in runs] == [given] * 3


def test_housekeeping_removes_the_copies_that_no_sweep_has(
    user: User, adapters: list[Path], runs_directory: Path
) -> None:
    kept, gone = a_sweep(user, adapters[0]), a_sweep(user, adapters[1])
    long_ago = time.time() - ORPHANED_SECONDS - 1
    recent = runs_directory / FOLDER / "of-a-launch-in-progress"
    for copy in copies(runs_directory):
        os.utime(copy, (long_ago, long_ago))
    recent.mkdir()
    gone.delete()
    remove_unused_copies()
    assert {copy.name for copy in copies(runs_directory)} == {*kept.adapters.values(), recent.name}
