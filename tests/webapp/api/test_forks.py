"""Checkpoints, forks and what-ifs by programs: what the pages of a run and of a trajectory do."""

from __future__ import annotations

import io
import json
import tarfile
from pathlib import Path
from typing import Any

import pytest
from django.test import Client

from engine.config import RunConfig
from tests.webapp.runs.rows import a_run
from tests.webapp.world import CHECKPOINT_STEP, World, make_world
from webapp.runs.models import Checkpoint, Run
from webapp.runs.states import RunState

pytestmark = pytest.mark.django_db

RUNS = "/api/v1/runs/"


def post(browser: Client, path: str, body: object, **headers: str) -> Any:
    return browser.post(f"/api/v1/{path}", json.dumps(body), content_type="application/json", headers=headers)


def trained(state: RunState = RunState.FINISHED) -> Run:
    """A run of 60 steps with a checkpoint at step 40, whose weights are three bytes."""
    run = a_run(state=state)
    Run.objects.filter(pk=run.pk).update(config=RunConfig(steps=60).model_dump(mode="json"))
    folder = run.directory / "checkpoints" / "step_40"
    (folder / "model").mkdir(parents=True)
    (folder / "model" / "model.safetensors").write_bytes(b"abc")
    (folder / "manifest.json").write_text(json.dumps({"model/model.safetensors": "0"}))
    Checkpoint.objects.create(run=run, step=40, path="checkpoints/step_40", bytes=3, reason="schedule", time=7.0)
    Checkpoint.objects.create(run=run, step=20, path="checkpoints/step_20", bytes=3, reason="schedule", time=5.0)
    run.refresh_from_db()
    return run


def test_checkpoints_that_still_exist_are_listed_and_downloaded(browser: Client) -> None:
    run = trained()
    listed = browser.get(f"{RUNS}{run.pk}/checkpoints").json()["checkpoints"]
    assert listed == [{"step": 40, "bytes": 3, "reason": "schedule", "time": 7.0}]
    answer = browser.get(f"{RUNS}{run.pk}/checkpoint", {"step": 40})
    assert answer["Content-Type"] == "application/x-tar"
    with tarfile.open(fileobj=io.BytesIO(answer.getvalue())) as archive:
        weights = archive.extractfile(f"{run.pk}-step_40/model/model.safetensors")
        assert weights is not None
        assert weights.read() == b"abc"
    gone = browser.get(f"{RUNS}{run.pk}/checkpoint", {"step": 20})
    assert (gone.status_code, gone.json()["error"]) == (404, "There is no checkpoint of step 20")


def test_a_checkpoint_is_not_evaluated_without_a_worker(browser: Client) -> None:
    answer = post(browser, f"runs/{trained().pk}/evaluate", {"step": 40})
    assert answer.status_code == 409
    assert "No worker answers" in answer.json()["error"]


def test_a_fork_trains_the_remaining_steps_once_per_key(browser: Client, runs_directory: Path) -> None:
    run = trained()
    body = {"step": 40, "overrides": {"optimizer.learning_rate": 1e-5}, "tags": ["rescued"]}
    answer = post(browser, f"runs/{run.pk}/fork", body, **{"Idempotency-Key": "one"})
    assert answer.status_code == 201, answer.json()
    made = Run.objects.get(pk=answer.json()["id"])
    assert (made.forked_from_id, made.fork_step, made.total_steps) == (run.pk, 40, 20)  # 60 less 40
    assert made.config["optimizer"]["learning_rate"] == 1e-5
    assert answer.json()["tags"] == ["rescued"]
    assert post(browser, f"runs/{run.pk}/fork", body, **{"Idempotency-Key": "one"}).json()["id"] == made.pk
    assert Run.objects.count() == 2


@pytest.mark.parametrize(
    ("body", "status", "says"),
    [
        ({"step": 20}, 404, "no checkpoint of step 20"),
        ({"step": 40, "overrides": {"optimizer.learning_rate": -1}}, 422, "optimizer.learning_rate"),
        ({"step": 40, "overrides": {"no.such": 1}}, 422, "no: unknown field"),
        ({}, 422, "step"),
    ],
)
def test_a_fork_that_cannot_start_is_refused(browser: Client, body: object, status: int, says: str) -> None:
    answer = post(browser, f"runs/{trained().pk}/fork", body)
    assert (answer.status_code, says in answer.json()["error"]) == (status, True), answer.json()
    assert Run.objects.count() == 1


def test_a_run_is_launched_again_with_its_configuration_unless_it_was_trained_elsewhere(browser: Client) -> None:
    run = trained()
    answer = post(browser, f"runs/{run.pk}/again", {})
    assert answer.status_code == 201
    made = Run.objects.get(pk=answer.json()["id"])
    assert (made.cloned_from_id, made.config, made.state) == (run.pk, run.config, RunState.QUEUED)
    Run.objects.filter(pk=run.pk).update(imported_from="verl")
    for action, body in (("again", {}), ("fork", {"step": 40})):
        refused = post(browser, f"runs/{run.pk}/{action}", body)
        assert (refused.status_code, refused.json()["error"]) == (409, "The run was not trained here")


@pytest.fixture
def world(browser: Client) -> World:
    made = make_world()
    browser.force_login(made.user)
    return made


def test_a_what_if_is_queued_read_and_stopped(browser: Client, world: World) -> None:
    path = f"runs/{world.run.pk}/what-ifs"
    body = {"trajectory": world.trajectories[0].pk, "turn": 1, "edit": "action", "text": "left", "seed": 3}
    answer = post(browser, path, {**body, "checkpoint": CHECKPOINT_STEP})
    assert answer.status_code == 202, answer.json()
    made = answer.json()
    assert (made["turn"], made["edit"], made["text"], made["seed"]) == (1, "action", "left", 3)
    assert made["checkpoint"] == f"step_{CHECKPOINT_STEP}"
    assert post(browser, path, body).status_code == 409  # one at a time
    read = browser.get(f"/api/v1/what-ifs/{made['id']}/").json()
    assert (read["state"], read["messages"]) == ("queued", None)
    assert post(browser, f"what-ifs/{made['id']}/stop", {}).json()["state"] == "stopped"


def test_a_finished_what_if_has_its_chat_and_can_be_forked(browser: Client, world: World) -> None:
    read = browser.get(f"/api/v1/what-ifs/{world.what_if.pk}/").json()
    assert read["state"] == "finished"
    assert [message["role"] for message in read["messages"]][-1] == "assistant"
    answer = post(browser, f"runs/{world.run.pk}/what-ifs", {"what_if": world.what_if.pk, "turn": 1})
    assert answer.status_code == 202, answer.json()


@pytest.mark.parametrize(
    ("body", "status", "says"),
    [
        ({"turn": 1}, 422, "Both or none"),
        ({"turn": 1, "trajectory": 1, "what_if": 1}, 422, "Both or none"),
        ({"turn": 1, "trajectory": 987654}, 404, "no trajectory 987654"),
        ({"turn": 1, "what_if": 987654}, 404, "no what-if 987654"),
        ({"turn": 0, "trajectory": 1}, 422, "turn"),
    ],
)
def test_a_what_if_of_nothing_is_refused(browser: Client, world: World, body: object, status: int, says: str) -> None:
    answer = post(browser, f"runs/{world.run.pk}/what-ifs", body)
    assert (answer.status_code, says in answer.json()["error"]) == (status, True), answer.json()
