"""The real engine under a real worker, with a real (small, untrained) language model."""

from __future__ import annotations

import os
import shutil
import signal
from pathlib import Path
from typing import Any

import pytest

from engine.config import RunConfig
from engine.rollout.trajectory_files import read_record
from tests.engine.adapters import save_small_adapter
from tests.engine.models import save_small_model
from tests.workers.workplace import Workplace, events_in_file, seqs_in_rows, wait_for, wait_for_state
from webapp.runs import services
from webapp.runs.models import Run

pytestmark = pytest.mark.slow

COLD_START = 120.0


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_small_model(tmp_path_factory.mktemp("model"))


@pytest.fixture
def site(workplace: Workplace, settings: Any) -> Workplace:
    workplace.engine = []
    settings.STARBOARD_ENGINE_COMMAND = None
    return workplace


def small_run(model: Path, *, steps: int, **more: Any) -> Run:
    config = RunConfig.model_validate(
        {
            "steps": steps,
            "threads": 1,
            "model": {"path": str(model), **more},
            "environments": [{"kind": "frozen_lake", "max_response_tokens": 8, "max_turns": 2}],
            "rollout": {"groups": 4, "group_size": 2},
            "diagnostics": {"every": 2, "reasonings": 4, "prompts": 3},
            "evaluation": {"every": 2, "episodes": 4, "final_episodes": 4},
            "checkpoint": {"every": 2},
        }
    )
    return services.submit_run(owner=None, config=config)


def test_a_run_is_stored_completely(site: Workplace, model: Path) -> None:
    site.start_worker()
    run = wait_for_state(small_run(model, steps=3), "finished", seconds=COLD_START)
    without_rows = ("verdict_updated", "problems_played")  # the first has one where its label begins
    unrecorded = {event["seq"] for event in events_in_file(run) if event["kind"] in without_rows}
    others = [event["seq"] for event in events_in_file(run) if event["seq"] not in unrecorded]
    assert [seq for seq in seqs_in_rows(run) if seq not in unrecorded] == others
    assert list(run.steps.values_list("step", flat=True)) == [1, 2, 3]
    assert "reward/mean" in run.metrics
    assert run.trajectories.filter(split="train").count() == 3 * 4 * 2
    shown = run.trajectories.filter(split="train", step=2).first()
    assert shown is not None
    record = read_record(run.directory / shown.file, shown.offset, shown.length)
    assert (record["group"], record["member"], record["step"]) == (shown.group, shown.member, 2)
    assert run.evaluations.filter(final=True).count() == 1
    assert run.last_heartbeat_at is not None
    assert run.stop_proof["proven"] and run.stop_proof["exit"] == "exited with code 0"


def test_a_run_continues_after_its_worker_and_engine_are_killed_with_every_step_counted_once(
    site: Workplace, model: Path
) -> None:
    worker = site.start_worker()
    run = small_run(model, steps=10_000)  # more than it can complete
    wait_for(lambda: run.steps.count() >= 3, seconds=COLD_START, what="three steps")
    site.kill_worker(worker)
    site.start_worker()
    wait_for(lambda: Run.objects.get(pk=run.pk).epoch == 2, what="another supervisor")
    run.refresh_from_db()
    os.kill(run.process["pid"], signal.SIGKILL)
    wait_for(lambda: run.steps.filter(attempt=2).exists(), seconds=COLD_START, what="a step of the second attempt")
    run.refresh_from_db()
    assert services.request_stop(run)
    run = wait_for_state(run, "stopped")
    steps = list(run.steps.values_list("step", flat=True))
    assert steps == list(range(1, len(steps) + 1))
    assert run.trajectories.filter(split="train").count() == len(steps) * 4 * 2
    seqs = [event["seq"] for event in events_in_file(run)]
    assert seqs == list(range(1, len(seqs) + 1))
    assert run.stop_proof["how"] == "by itself"


def test_a_run_that_waited_starts_from_the_adapter_that_it_was_launched_with(
    site: Workplace, model: Path, tmp_path: Path
) -> None:
    adapter = save_small_adapter(tmp_path / "adapter")
    run = small_run(model, steps=1, adapter=str(adapter), lora={"rank": 4, "alpha": 8.0})
    launched = (adapter / "adapter_model.safetensors").read_bytes()
    shutil.rmtree(adapter)
    site.start_worker()
    run = wait_for_state(run, "finished", seconds=COLD_START)
    assert (run.directory / "start/adapter/adapter_model.safetensors").read_bytes() == launched


def test_a_missing_model_fails_the_run_with_cause_and_remedy(site: Workplace) -> None:
    site.start_worker()
    run = wait_for_state(small_run(Path("/nowhere/model"), steps=3), "failed", seconds=COLD_START)
    assert "/nowhere/model does not exist" in run.state_reason
    assert "config.json" in run.state_remedy
    assert (run.attempt, run.restarts, run.faults) == (1, 0, [])
