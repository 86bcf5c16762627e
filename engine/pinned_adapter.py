"""A run's own copy of the LoRA adapter that it starts from: later attempts, what-ifs and the reference need it."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from engine.config import RunConfig
from engine.errors import CheckpointError, ModelError
from engine.policies.adapter_files import CONFIG, WEIGHTS, read_adapter

PINNED = Path("start") / "adapter"  # within the run's directory
ORIGIN = "origin"  # names the directory that was copied


def with_own_adapter(config: RunConfig, directory: Path) -> RunConfig:
    """`config` with the copy in the run's `directory` as its adapter, which is created if absent.

    `ModelError` if there is neither a copy nor an adapter; `CheckpointError` if the copy is of another directory.
    """
    given = config.model.adapter
    if not given or config.model.start_from.run:
        return config
    pinned = (directory / PINNED).resolve()
    if not pinned.is_dir():
        _copy(read_adapter(given).folder.resolve(), pinned)
    origin = Path((pinned / ORIGIN).read_text())
    if origin != Path(given).expanduser().resolve() and pinned != Path(given).resolve():
        raise CheckpointError(
            f"model.adapter was {origin} when this run started, and is now {given}.",
            remedy="Resume with the configuration that the run started with, or start another run.",
        )
    return config.model_copy(update={"model": config.model.model_copy(update={"adapter": str(pinned)})})


def is_own(adapter: str) -> bool:
    """Whether it is a run's own copy, whose path changes with the run's directory."""
    return (Path(adapter) / ORIGIN).is_file() and Path(adapter).parts[-2:] == PINNED.parts


def _copy(source: Path, target: Path) -> None:
    """All files or none; copied and not linked, since a file may be overwritten in place."""
    part = target.with_name(f".{target.name}.{os.getpid()}.part")
    shutil.rmtree(part, ignore_errors=True)
    try:
        part.mkdir(parents=True)
        for name in (CONFIG, WEIGHTS):
            shutil.copyfile(source / name, part / name)
        (part / ORIGIN).write_text(str(source))
        part.replace(target)
    except OSError as error:
        shutil.rmtree(part, ignore_errors=True)
        if not target.is_dir():  # else another process did it first
            raise ModelError(
                f"The adapter in {source} could not be copied into the run's directory: {error.strerror}.",
                remedy="Check disk space and permissions.",
            ) from error
