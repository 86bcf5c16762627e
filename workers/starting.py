"""The start of a run's engine: its directory, its process, and why it cannot start."""

from __future__ import annotations

from pathlib import Path

from pydantic import ValidationError

from engine.config import RunConfig, problems_by_field
from webapp.runs.models import Run
from webapp.runs.states import EndCause, RunState
from workers.about_run import write_about
from workers.control import write_json
from workers.endings import Ending
from workers.engine_process import TEMPORARY, NotStarted, start_engine
from workers.process import Identity
from workers.suspension import lock_of
from workers.tail import truncate_partial_line


def prepare_directory(run: Run) -> None:
    """`ValidationError` or `OSError` if that is not possible, for `why_not_started`; so `start`."""
    config = run.parsed_config()
    run.directory.mkdir(parents=True, exist_ok=True)
    lock_of(run).touch()
    truncate_partial_line(run.directory / "events.jsonl")
    write_json(run.directory / "config.json", config.model_dump(mode="json"))
    write_about(run)


def start(run: Run, epoch: int) -> Identity:
    return start_engine(
        run.directory,
        cookie=run.process["cookie"],
        attempt=run.attempt,
        epoch=epoch,
        last_seq=run.last_seq,
        resume=run.attempt > 1 or run.last_seq > 0,
        start_over=run.start_over,
    )


def why_not_started(directory: Path, error: ValidationError | OSError) -> Ending:
    """Retryable where memory, processes or open files have run out: others may free them."""
    if isinstance(error, ValidationError):
        return _refused(f"The configuration cannot be used:\n{_problems(error)}", "Clone the run and fix these fields.")
    why = error.strerror or str(error)
    if error.errno in TEMPORARY:
        return Ending(
            state=RunState.FAILED,
            reason=f"The machine has no room for the engine's process: {why}.",
            remedy="Free memory, or raise the limits of processes and open files (ulimit -u, ulimit -n), then resume.",
            retryable=True,
            cause=EndCause.REFUSED,
        )
    if isinstance(error, NotStarted):
        return _refused(f"The engine could not be started: {why}.", f"Read {directory / 'engine.log'}, then resume.")
    return _refused(
        f"The run directory {directory} cannot be used: {why}.",
        "Make it writable for the worker, check that the disk has space, then resume.",
    )


def _refused(reason: str, remedy: str) -> Ending:
    return Ending(state=RunState.FAILED, reason=reason, remedy=remedy, cause=EndCause.REFUSED)


def _problems(error: ValidationError) -> str:
    return "\n".join(f"{field or 'config'}: {reason}" for field, reason in problems_by_field(error, RunConfig))
