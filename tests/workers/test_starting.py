"""An engine that cannot be started: what failed is said, and what may pass is tried again."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from pydantic import ValidationError
from pytest_django import Settings

from engine.config import RunConfig
from tests.builders.small_run import small_config
from webapp.runs.services import submit_run
from workers import turns
from workers.engine_process import NotStarted
from workers.limits import current_limits
from workers.starting import why_not_started
from workers.supervisor import supervise


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(("restarts", "state", "attempt"), [(3, "queued", 2), (0, "failed", 1)])
def test_an_engine_that_finds_no_process_is_started_again_after_a_pause(
    tmp_path: Path, settings: Settings, monkeypatch: pytest.MonkeyPatch, restarts: int, state: str, attempt: int
) -> None:
    """As after other failures that may pass; without a restart left the run has failed, and says what ran out."""

    def refuse(*_: object, **__: object) -> None:
        raise OSError(errno.EAGAIN, os.strerror(errno.EAGAIN))

    monkeypatch.setattr("workers.engine_process.subprocess.Popen", refuse)
    settings.RUNS_DIR = str(tmp_path)
    config = small_config()
    fewer = config.model_copy(update={"checkpoint": config.checkpoint.model_copy(update={"restarts": restarts})})
    run = submit_run(owner=None, config=fewer, name="a run")
    claimed = turns.claim(run.pk)
    assert claimed is not None
    supervise(*claimed, threading.Event())
    run.refresh_from_db()
    assert (run.state, run.attempt) == (state, attempt)
    assert "no room for the engine's process: Resource temporarily unavailable" in run.state_reason
    assert "run directory" not in run.state_reason
    assert run.restart_pause == (current_limits().restart_pauses[0] if restarts else None)


@pytest.mark.parametrize("number", [errno.EAGAIN, errno.ENOMEM, errno.EMFILE, errno.ENFILE])
@pytest.mark.parametrize("kind", [OSError, NotStarted])
def test_what_has_run_out_may_be_free_again(kind: type[OSError], number: int) -> None:
    ending = why_not_started(Path("runs/arun"), kind(number, os.strerror(number)))
    assert ending.retryable
    assert os.strerror(number) in ending.reason


def test_a_program_that_cannot_be_executed_is_no_fault_of_the_directory() -> None:
    ending = why_not_started(Path("runs/arun"), NotStarted(errno.ENOENT, os.strerror(errno.ENOENT)))
    assert (ending.retryable, ending.reason) == (False, "The engine could not be started: No such file or directory.")
    assert "engine.log" in ending.remedy


def test_a_directory_that_cannot_be_written_and_a_configuration_that_is_refused_are_final() -> None:
    ending = why_not_started(Path("runs/arun"), OSError(errno.EROFS, os.strerror(errno.EROFS)))
    assert not ending.retryable
    assert "cannot be used: Read-only file system" in ending.reason
    with pytest.raises(ValidationError) as refused:
        RunConfig.model_validate({"stepz": 3})
    ending = why_not_started(Path("runs/arun"), refused.value)
    assert not ending.retryable
    assert "stepz: " in ending.reason


def test_a_worker_imports_no_page_and_no_part_of_the_rest_api() -> None:
    """Django's checks, which Celery has each worker run, would import them all: a second of a processor."""
    script = (
        "import sys; from workers.app import app; app.loader.import_default_modules(); "
        "print('workers.tasks' in sys.modules, 'webapp.urls' in sys.modules, 'webapp.api.resources' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=100)
    assert done.stdout.split() == ["True", "False", "False"]
