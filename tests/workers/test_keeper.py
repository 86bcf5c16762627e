"""What an engine leaves behind, also without parents and environment, ends with it: its keeper sees to that."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from tests.workers.workplace import Workplace, wait_for, wait_for_state
from webapp.runs import services
from webapp.runs.models import Run
from workers.engine_process import NotStarted, report_of, start_engine
from workers.process import find_leader, keepers_of, read_stat, sweep

pytestmark = pytest.mark.slow


def has_ended(pid: int) -> bool:
    return read_stat(pid) is None


def stranger_of(run: Run) -> int:
    """The process that the engine has detached from itself, of which nothing says that it belongs to the run."""
    file = run.directory / "detached"
    pid = int(wait_for(lambda: file.exists() and file.read_text(), what="a detached process"))
    environment = Path(f"/proc/{pid}/environ").read_bytes()
    assert b"STARBOARD_RUN" not in environment
    return pid


def test_a_stop_ends_a_detached_process_with_a_cleared_environment_and_reports_it(workplace: Workplace) -> None:
    workplace.start_worker()
    run = wait_for_state(workplace.submit(steps=1000, leave_stranger=1), "running")
    stranger = stranger_of(run)
    assert services.request_stop(run)
    run = wait_for_state(run, "stopped")
    assert has_ended(stranger)
    assert run.stop_proof["swept"] == [stranger]
    assert run.stop_proof["proven"]


@pytest.mark.parametrize("worker_lives", [True, False])
def test_a_killed_engine_leaves_no_detached_process_whether_or_not_there_is_a_worker(
    workplace: Workplace, worker_lives: bool
) -> None:
    worker = workplace.start_worker()
    run = wait_for_state(workplace.submit(steps=1000, leave_stranger=1, restarts=0), "running")
    stranger = stranger_of(run)
    run.refresh_from_db()
    if not worker_lives:
        workplace.kill_worker(worker)
    os.kill(run.process["pid"], signal.SIGKILL)
    wait_for(lambda: has_ended(stranger), what="the end of the detached process")
    if not worker_lives:
        workplace.start_worker()
    run = wait_for_state(run, "crashed")
    assert "killed by signal 9 (SIGKILL)" in run.state_reason
    assert stranger in run.stop_proof["swept"] and run.stop_proof["proven"]


def test_without_its_keeper_the_end_of_a_run_is_not_called_proven(workplace: Workplace) -> None:
    workplace.start_worker()
    run = wait_for_state(workplace.submit(steps=1000), "running")
    run.refresh_from_db()
    [keeper] = keepers_of(run.process["cookie"])
    os.kill(keeper.pid, signal.SIGKILL)
    assert services.request_stop(run)
    run = wait_for_state(run, "stopped")
    assert not run.stop_proof["proven"] and run.stop_proof["left"] == []


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_keeper_outlives_the_signals_of_a_shutdown(workplace: Workplace, number: signal.Signals) -> None:
    workplace.start_worker()
    run = wait_for_state(workplace.submit(steps=30, step_seconds=0.05), "running")
    run.refresh_from_db()
    [keeper] = keepers_of(run.process["cookie"])
    os.kill(keeper.pid, number)
    assert wait_for_state(run, "finished").stop_proof["proven"]


def test_a_program_that_does_not_exist_is_reported(tmp_path: Path, settings: object) -> None:
    settings.STARBOARD_ENGINE_COMMAND = ["/nowhere/engine"]  # type: ignore[attr-defined]
    with pytest.raises(NotStarted, match="No such file or directory"):
        start_engine(tmp_path, cookie="of-nothing", attempt=1, epoch=1, resume=False)
    assert not sweep("of-nothing", seconds=5).left
    assert find_leader("of-nothing") is None and report_of(tmp_path, "of-nothing") is None
    assert "/nowhere/engine" in (tmp_path / "engine.log").read_text()
