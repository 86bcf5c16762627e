"""What pages may do to a run: launch it, send it requests, and change its state by the transition table."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from pytest_django import Settings

from engine.config import ModelConfig, RunConfig
from engine.errors import ConfigError, ModelError
from tests.engine.adapters import save_small_adapter
from tests.workers.workplace import forget_connections
from webapp.runs import services
from webapp.runs.models import Run
from webapp.runs.states import MOVES, TERMINAL, RunState
from workers.app import app

pytestmark = pytest.mark.django_db

LIVE = ["starting", "running", "paused", "stalled", "lost"]


def a_run(state: str = "running", **fields: Any) -> Run:
    return Run.objects.create(name="calm-otter-12", config={}, state=state, **fields)


def test_a_submitted_run_is_a_queued_row_with_a_generated_name_and_its_whole_config() -> None:
    owner = get_user_model().objects.create_user("ada")
    run = services.submit_run(owner=owner, config=RunConfig(steps=7), preset="starter")
    run.refresh_from_db()
    assert (run.state, run.owner, run.preset, run.total_steps) == ("queued", owner, "starter", 7)
    assert run.wait_reason == "Waiting for a worker"
    assert len(run.name.split("-")) == 3
    assert run.parsed_config() == RunConfig(steps=7)


def test_an_invalid_config_creates_no_row() -> None:
    with pytest.raises(ConfigError, match="stepz"):
        services.submit_run(owner=None, config={"stepz": 3})
    assert not Run.objects.exists()


def test_a_run_keeps_the_adapter_that_it_was_launched_with(settings: Settings, tmp_path: Path) -> None:
    settings.RUNS_DIR = tmp_path / "runs"
    adapter = save_small_adapter(tmp_path / "adapter")
    weights = (adapter / "adapter_model.safetensors").read_bytes()
    run = services.submit_run(owner=None, config=RunConfig(model=ModelConfig(adapter=str(adapter))))
    shutil.rmtree(adapter)
    assert (run.directory / "start/adapter/adapter_model.safetensors").read_bytes() == weights


def test_a_run_whose_adapter_cannot_be_copied_is_not_launched(settings: Settings, tmp_path: Path) -> None:
    settings.RUNS_DIR = tmp_path / "a_file"
    settings.RUNS_DIR.touch()
    config = RunConfig(model=ModelConfig(adapter=str(save_small_adapter(tmp_path / "adapter"))))
    with pytest.raises(ModelError, match=r"could not be copied .*: Not a directory. .* then launch the run again"):
        services.submit_run(owner=None, config=config)
    assert not Run.objects.exists()


@pytest.fixture
def broker_that_is_down() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        for name in ("broker_write_url", "broker_url"):  # the second is the default of the first
            patch.setattr(app.conf, name, "redis+socket:///nowhere/redis.sock")
        forget_connections()
        yield
    forget_connections()  # with the settings as before, which the next connections have


def test_launching_works_while_the_broker_is_down(
    broker_that_is_down: None, django_capture_on_commit_callbacks: Any
) -> None:
    began = time.monotonic()
    with django_capture_on_commit_callbacks(execute=True):
        run = services.submit_run(owner=None, config=RunConfig())
    assert time.monotonic() - began < 2  # the seconds after which a connection is given up
    assert Run.objects.get(pk=run.pk).state == "queued"
    assert not services.enqueue(run.pk)


@pytest.mark.parametrize("source", list(RunState))
@pytest.mark.parametrize("target", list(RunState))
def test_a_run_follows_only_the_allowed_transitions(source: RunState, target: RunState) -> None:
    run = a_run(source)
    assert services.move(run, target, reason="why") == (target in MOVES[source])
    run.refresh_from_db()
    assert run.state == (target if target in MOVES[source] else source)


def test_ended_runs_change_state_only_by_a_user_s_resume() -> None:
    for state in TERMINAL:
        assert MOVES[state] <= {RunState.QUEUED}
    assert MOVES[RunState.FINISHED] == frozenset()


def test_an_older_epoch_or_attempt_cannot_change_the_state() -> None:
    run = a_run(epoch=3, attempt=2)
    assert not services.move(run, RunState.CRASHED, epoch=2)
    assert not services.move(run, RunState.CRASHED, attempt=1)
    assert services.move(run, RunState.CRASHED, epoch=3, attempt=2)


def test_of_two_concurrent_endings_only_the_first_counts() -> None:
    run = a_run()
    assert services.move(Run.objects.get(pk=run.pk), RunState.FINISHED, reason="first")
    assert not services.move(Run.objects.get(pk=run.pk), RunState.CRASHED, reason="second")
    run.refresh_from_db()
    assert (run.state, run.state_reason) == ("finished", "first")


def test_stopping_a_queued_run_needs_no_engine() -> None:
    run = a_run("queued")
    assert services.request_stop(run, get_user_model().objects.create_user("ada"))
    run.refresh_from_db()
    assert (run.state, run.state_reason) == ("stopped", "Stopped by ada before it started.")


@pytest.mark.parametrize("state", LIVE)
def test_stopping_a_live_run_is_a_request_and_each_one_counts(state: str) -> None:
    run = a_run(state)
    assert services.request_stop(run)
    asked_at = run.stop_requested_at
    assert (run.state, run.requested, run.stop_requests) == ("stopping", "stop", 1)
    assert services.request_stop(run)
    assert (run.stop_requests, run.stop_requested_at) == (2, asked_at)


@pytest.mark.parametrize("state", sorted(TERMINAL))
def test_an_ended_run_accepts_no_requests(state: str) -> None:
    run = a_run(state)
    assert not services.request_stop(run)
    assert not services.request_pause(run)
    assert not services.request_checkpoint(run)


def test_pause_resume_and_checkpoints_are_requests_in_the_row() -> None:
    run = a_run()
    assert services.request_pause(run) and run.requested == "pause"
    assert not services.request_pause(run)
    assert services.request_resume(run) and run.requested == "run"
    assert services.request_checkpoint(run) and services.request_checkpoint(run)
    assert run.checkpoint_requests == 2
    services.request_stop(run)
    assert not services.request_pause(run)


@pytest.mark.parametrize("state", ["stopped", "failed", "crashed"])
def test_a_run_that_ended_early_is_queued_as_a_new_attempt(state: str) -> None:
    run = a_run(state, requested="stop", stop_requests=2, process={"cookie": "x"}, stop_proof={"proven": True})
    assert services.resume_ended(run)
    run.refresh_from_db()
    assert (run.state, run.attempt, run.requested, run.stop_requests) == ("queued", 2, "run", 0)
    assert (run.process, run.stop_proof, run.finished_at, run.state_reason) == ({}, {}, None, "")


def test_a_finished_run_is_not_resumed() -> None:
    assert not services.resume_ended(a_run("finished"))


def test_a_run_is_renamed_to_anything_but_an_empty_name() -> None:
    run = a_run()
    assert services.rename(run, "  <b>bold</b>  ") and run.name == "<b>bold</b>"
    assert not services.rename(run, "   ")
    assert services.rename(run, "x" * 200) and len(run.name) == 80


def test_only_ended_runs_are_archived() -> None:
    assert not services.archive(a_run("running"))
    ended = a_run("finished")
    assert services.archive(ended) and ended.archived_at is not None
    assert not services.archive(ended)
    assert services.unarchive(ended) and ended.archived_at is None
