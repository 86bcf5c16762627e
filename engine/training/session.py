"""One attempt at a run, from its run directory to its last event: load, resume, train, and report how it ended."""

from __future__ import annotations

import os
import traceback
from contextlib import ExitStack, closing
from functools import partial
from pathlib import Path
from typing import Any

import torch

from engine.cluster.forward_tokens import with_tokens
from engine.config import RunConfig
from engine.config.live import with_changes
from engine.disk_room import DiskRoom
from engine.environments.feasibility import require_solvable
from engine.errors import CheckpointError, RetryableFault, StarboardError
from engine.events import MACHINES, AlertRaised, ClusterReleased, PhaseChanged, RunFailed, RunFinished, RunStarted
from engine.forking import begun_at, describe_start, pin_start, takes_optimizer
from engine.process_snapshots import dump_stacks_on_signal
from engine.starting_adapter import pin_adapter, with_pinned_adapter
from engine.training import checkpoint
from engine.training.backend import Backend, LocalBackend
from engine.training.beginning import Beginning, find_beginning, require_model
from engine.training.checkpoint_folder import is_valid
from engine.training.checkpoint_settings import checkpoint_settings, require_same_settings
from engine.training.checkpoint_state import Progress
from engine.training.control import Control, Interrupted, StopRequested
from engine.training.heartbeat import Heartbeat
from engine.training.run_directory import EventLog, RunDirectory, Sink
from engine.training.seen_problems import SeenProblems
from engine.training.trainer import Trainer
from engine.verdict.types import Severity
from engine.versions import versions_of

EXIT_DONE, EXIT_FAILED, EXIT_INTERRUPTED = 0, 1, 3


def train(
    config: RunConfig,
    run_directory: Path,
    *,
    resume: bool = False,
    start_over: bool = False,
    sinks: list[Sink] | None = None,
) -> int:
    """Trains in `run_directory`; returns the exit status.

    0: the run completed or was stopped as requested. 1: it failed, and its last event says why. 3: SIGTERM or SIGINT
    was received, a checkpoint was written, and `resume` continues from it. With `start_over` a resumed run without a
    good checkpoint begins again at step 0.
    """
    attempt = int(os.environ.get("STARBOARD_ATTEMPT", "1"))
    epoch = int(os.environ.get("STARBOARD_EPOCH", "0"))
    known = int(os.environ.get("STARBOARD_LAST_SEQ", "0"))  # the newest event in the site's rows
    directory = RunDirectory(run_directory)
    control = Control(directory.control, epoch=epoch)
    room = DiskRoom(directory.path, check_cancelled=control.check_cancelled)
    events = EventLog(directory.events, attempt=attempt, epoch=epoch, known=known, sinks=sinks, room=room)
    control.install_signal_handlers()
    dump_stacks_on_signal(directory.path / "stacks" / "engine.txt")
    state: dict[str, Any] = {"step": 0, "phase": "loading"}

    def progress() -> dict[str, Any]:
        trainer = state.get("trainer")
        if trainer is not None:
            state.update(step=trainer.progress.step, phase=trainer.phase)
        return {"step": state["step"], "phase": state["phase"], "seq": events.seq}

    with Heartbeat(directory.heartbeat, attempt=attempt, epoch=epoch, progress=progress):
        try:
            trainer = prepare(config, directory, events, control, resume=resume, start_over=start_over)
            state["trainer"] = trainer
            with closing(trainer.backend):
                trainer.run()
            return EXIT_DONE
        except Interrupted:
            return EXIT_INTERRUPTED
        except StopRequested:  # the trainer handles its own; this one came while the backend waited for a cluster
            step = int(progress()["step"])
            events.emit(RunFinished(step=step, outcome="stopped", reason="Stopped before the model was loaded."))
            return EXIT_DONE
        except (Exception, SystemExit) as error:  # an environment may call sys.exit, which must be reported too
            if room.gave_up:  # nothing can be written: the newest checkpoint is what is left
                return EXIT_INTERRUPTED
            step = int(progress()["step"])
            events.emit(_failure(step, error))
            return EXIT_FAILED
        finally:
            events.close()
            directory.close()


def prepare(
    config: RunConfig,
    directory: RunDirectory,
    events: EventLog,
    control: Control,
    *,
    resume: bool,
    start_over: bool = False,
) -> Trainer:
    """Loads and seeds everything, from the latest valid checkpoint when resuming; emits `run_started`."""
    require_solvable(config, check_cancelled=control.check_cancelled)
    torch.manual_seed(config.seed)
    beginning = Beginning()
    if resume:
        beginning = find_beginning(directory, every=config.checkpoint.most_unsaved, start_over=start_over)
    found = beginning.checkpoint
    if found is not None:
        require_same_settings(found, checkpoint_settings(with_pinned_adapter(config, directory.path)))
        require_model(config, found)
    directory.write_config(config)
    config = pin_adapter(config, directory.path, again=not resume)
    start, name = pin_start(config, directory.path), config.model.versioned_path
    if start is not None and found is None and not is_valid(start):
        raise CheckpointError(f"The checkpoint {start} is damaged.", remedy="Fork from another step of that run.")
    initial = begun_at(config, start)
    config = with_changes(initial, checkpoint.changed_settings(found))
    backend, progress = BACKENDS[config.backend](config, found, directory, events, control)
    with ExitStack() as unless_started:
        unless_started.callback(backend.close)
        size = backend.forward_size
        if size is not None:
            initial, config = with_tokens(initial, size.tokens), with_tokens(config, size.tokens)
        progress.tokens_per_forward = size.tokens if size is not None else 0
        adopted = start is not None and takes_optimizer(config, start)
        if start is not None and found is None:
            progress.problems = SeenProblems.read(start) or progress.problems
            if config.model.start_from.steps_before:
                progress.tokens_before = checkpoint.tokens_of(start)
            if adopted:
                backend.warm_start(start)
        started = RunStarted(
            step=progress.step,
            total_steps=config.steps,
            resumed_from=progress.step if found else None,
            pid=os.getpid(),
            device=backend.device,
            start=describe_start(config, start, adopted=adopted) if start is not None else "",
            model=name,
            parameters=backend.parameters,
            trainable_parameters=backend.trainable_parameters,
            versions=versions_of("torch", "transformers"),
        )
        events.emit(started)
        if beginning.warning:
            warn(events, beginning.warning, metric="cluster/damaged_checkpoints", value=len(beginning.damaged))
        if size is not None and size.is_short:
            warn(events, str(size), severity="watch", metric="cluster/tokens_per_forward", value=size.tokens)
        trainer = Trainer(initial, directory, events, control, backend, progress)
        unless_started.pop_all()
    return trainer


def open_local(
    config: RunConfig, found: Path | None, directory: RunDirectory, events: EventLog, control: Control
) -> tuple[Backend, Progress]:
    from engine.cluster.checks import require_feasible

    require_feasible(config)
    return LocalBackend.open(config, found)


def open_ray(
    config: RunConfig, found: Path | None, directory: RunDirectory, events: EventLog, control: Control
) -> tuple[Backend, Progress]:
    """Reports what it waits for as details of the phase, and failures it recovered from as alerts."""
    from engine.cluster.checks import require_feasible
    from engine.cluster.ray_backend import RayBackend
    from engine.cluster.reporting import ReleaseReport, RunReporter

    require_feasible(config)

    def status(detail: str) -> None:
        events.emit(PhaseChanged(step=0, phase="loading", detail=detail))

    def released(report: ReleaseReport) -> None:
        events.emit(ClusterReleased(step=events.step, message=report.describe(), proven=report.confirmed))

    reporter = RunReporter(
        status=status, warn=partial(warn, events), released=released, check_cancelled=control.check_cancelled
    )
    return RayBackend.open(config, found, directory.path.resolve(), reporter)


def warn(
    events: EventLog,
    message: str,
    *,
    severity: Severity = "warn",
    metric: str = "cluster/replaced_samplers",
    value: float = 1.0,
) -> None:
    """An alert about machines or disks, not about training."""
    events.emit(
        AlertRaised(step=events.step, rule=MACHINES, severity=severity, message=message, metric=metric, value=value)
    )


BACKENDS = {"local": open_local, "ray": open_ray}


def _failure(step: int, error: BaseException) -> RunFailed:
    message, remedy = str(error) or type(error).__name__, "The traceback and engine.log say where it happened."
    if isinstance(error, StarboardError):
        message, remedy = error.message, error.remedy
    return RunFailed(
        step=step,
        error=type(error).__name__,
        message=_encodable(message),
        remedy=_encodable(remedy),
        traceback=_encodable(traceback.format_exc()),
        retryable=isinstance(error, RetryableFault),
    )


def _encodable(text: str) -> str:
    """An environment's exception may hold half of a surrogate pair, which no JSON line can."""
    return text.encode(errors="replace").decode()
