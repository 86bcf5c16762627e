"""One attempt at a run, from its run directory to its last event: load, resume, train, and say how it ended."""

from __future__ import annotations

import os
import platform
import traceback
from contextlib import closing
from importlib.metadata import version
from pathlib import Path
from typing import Any

import torch

from engine.config import RunConfig
from engine.config.live import with_changes
from engine.environments.feasibility import refuse_impossible
from engine.errors import CheckpointError, RetryableFault, StarboardError
from engine.events import MACHINES, AlertRaised, ClusterReleased, PhaseChanged, RunFailed, RunFinished, RunStarted
from engine.forking import begun_at, describe_start, pin_start, takes_optimizer
from engine.training import checkpoint
from engine.training.backend import Backend, LocalBackend
from engine.training.checkpoint import Progress
from engine.training.control import Control, Interrupted, StopAsked
from engine.training.heartbeat import Heartbeat
from engine.training.made_with import made_with, refuse_another
from engine.training.run_directory import EventLog, RunDirectory, Sink
from engine.training.trainer import Trainer

EXIT_DONE, EXIT_FAILED, EXIT_INTERRUPTED = 0, 1, 3


def train(config: RunConfig, run_directory: Path, *, resume: bool = False, sinks: list[Sink] | None = None) -> int:
    """Trains in `run_directory`; returns the exit status.

    0: the run did what was asked. 1: it failed, and its last event says why. 3: SIGTERM or SIGINT came, a checkpoint
    was written and `resume` goes on from it.
    """
    attempt = int(os.environ.get("STARBOARD_ATTEMPT", "1"))
    epoch = int(os.environ.get("STARBOARD_EPOCH", "0"))
    directory = RunDirectory(run_directory)
    events = EventLog(directory.events, attempt=attempt, epoch=epoch, sinks=sinks)
    control = Control(directory.control, epoch=epoch)
    control.listen_to_signals()
    state: dict[str, Any] = {"step": 0, "phase": "loading"}

    def progress() -> dict[str, Any]:
        trainer = state.get("trainer")
        if trainer is not None:
            state.update(step=trainer.progress.step, phase=trainer.phase)
        return {"step": state["step"], "phase": state["phase"], "seq": events.seq}

    with Heartbeat(directory.heartbeat, attempt=attempt, epoch=epoch, progress=progress):
        try:
            trainer = prepare(config, directory, events, control, resume=resume)
            state["trainer"] = trainer
            with closing(trainer.backend):
                trainer.run()
            return EXIT_DONE
        except Interrupted:
            return EXIT_INTERRUPTED
        except StopAsked:  # the trainer ends itself; this is a backend that waited for its turn on a cluster
            step = int(progress()["step"])
            events.emit(RunFinished(step=step, outcome="stopped", reason="Stopped before the model was loaded."))
            return EXIT_DONE
        except (Exception, SystemExit) as error:  # an environment may exit, and that is no end without a word
            step = int(progress()["step"])
            events.emit(_failure(step, error))
            return EXIT_FAILED
        finally:
            events.close()
            directory.close()


def prepare(config: RunConfig, directory: RunDirectory, events: EventLog, control: Control, *, resume: bool) -> Trainer:
    """Everything loaded and seeded, from the newest good checkpoint when resuming; emits `run_started`."""
    refuse_impossible(config)
    torch.manual_seed(config.seed)
    found = checkpoint.newest_good(directory.checkpoints) if resume else None
    if found is not None:
        refuse_another(found, made_with(config))
    directory.write_config(config)
    start, name = pin_start(config, directory.path), config.model.path
    if start is not None and found is None and not checkpoint.is_good(start):
        raise CheckpointError(f"The checkpoint {start} is damaged.", remedy="Fork from another step of that run.")
    begun = begun_at(config, start)
    config = with_changes(begun, checkpoint.settings_of(found))
    backend, progress = BACKENDS[config.backend](config, found, directory, events, control)
    adopted = start is not None and takes_optimizer(config, start)
    if start is not None and found is None and adopted:
        backend.adopt(start)
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
        versions=_versions(),
    )
    events.emit(started)
    return Trainer(begun, directory, events, control, backend, progress)


def open_local(
    config: RunConfig, found: Path | None, directory: RunDirectory, events: EventLog, control: Control
) -> tuple[Backend, Progress]:
    return LocalBackend.open(config, found)


def open_ray(
    config: RunConfig, found: Path | None, directory: RunDirectory, events: EventLog, control: Control
) -> tuple[Backend, Progress]:
    """Tells what it waits for as details of the phase, and what it mended as alerts."""
    from engine.cluster.checks import refuse_what_cannot_work
    from engine.cluster.freeing import Freed
    from engine.cluster.ray_backend import RayBackend
    from engine.cluster.voice import Voice

    refuse_what_cannot_work(config)

    def tell(detail: str) -> None:
        events.emit(PhaseChanged(step=0, phase="loading", detail=detail))

    def warn(message: str, *, metric: str = "cluster/replaced_samplers", value: float = 1.0) -> None:
        events.emit(
            AlertRaised(step=events.step, rule=MACHINES, severity="warn", message=message, metric=metric, value=value)
        )

    def told(freed: Freed) -> None:
        events.emit(ClusterReleased(step=events.step, message=freed.in_words(), proven=freed.proven))

    voice = Voice(tell=tell, warn=warn, freed=told, checkpoint=control.check)
    return RayBackend.open(config, found, directory.path.resolve(), voice)


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


def _versions() -> dict[str, str]:
    return {"python": platform.python_version(), **{name: version(name) for name in ("torch", "transformers")}}
