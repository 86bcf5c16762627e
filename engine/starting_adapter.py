"""A run's own copy of the LoRA adapter that it starts from, in `start/adapter` of its directory. No torch.

So the run can resume when the adapter's directory was changed or removed. Unlike a checkpoint, an adapter that somebody
else wrote may be changed in place, so its files are copied and not linked.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from engine.config import RunConfig
from engine.errors import ModelError
from engine.policies.adapter_files import CONFIG, WEIGHTS

SOURCE = "copied_from.txt"  # in the copy: the path that the run's configuration gives


def pin_adapter(config: RunConfig, directory: Path, *, again: bool) -> RunConfig:
    """`config` with the run's own copy of its adapter, created if absent, or in any case with `again`.

    `config` itself for a run without an adapter, and if the adapter's files are missing, which loading it reports.
    `ModelError` if the copy cannot be written.
    """
    pinned = with_pinned_adapter(config, directory)
    if pinned is not config and not again:
        return pinned
    source = Path(config.model.adapter).expanduser()
    if not config.starts_from_adapter or not all((source / name).is_file() for name in (CONFIG, WEIGHTS)):
        return config
    try:
        _copy(source, _folder(directory), given=config.model.adapter)
    except OSError as error:
        raise ModelError(
            f"The adapter in {source} could not be copied into the run's directory: {error.strerror or error}.",
            remedy="Check disk space and permissions, then start the run again.",
        ) from error
    return with_pinned_adapter(config, directory)


def with_pinned_adapter(config: RunConfig, directory: Path) -> RunConfig:
    """`config` with the run's own copy of its adapter; `config` itself if there is none of that adapter."""
    folder = _folder(directory)
    if not config.starts_from_adapter or not (folder / SOURCE).is_file():
        return config
    if _resolved(given_adapter(str(folder))) != _resolved(config.model.adapter):
        return config
    return config.model_copy(update={"model": config.model.model_copy(update={"adapter": str(folder.resolve())})})


def given_adapter(path: str) -> str:
    """The path that the run's configuration gives, for its own copy; any other path as it is."""
    try:
        return (Path(path) / SOURCE).read_text()
    except OSError:
        return path


def _folder(directory: Path) -> Path:
    return directory / "start" / "adapter"


def _resolved(path: str) -> Path:
    return Path(path).expanduser().resolve()


def _copy(source: Path, target: Path, *, given: str) -> None:
    """All files or none."""
    part = target.with_name(f".adapter.{os.getpid()}.part")
    shutil.rmtree(part, ignore_errors=True)
    part.mkdir(parents=True)
    try:
        for name in (CONFIG, WEIGHTS):
            shutil.copyfile(source / name, part / name)
        (part / SOURCE).write_text(given)
        shutil.rmtree(target, ignore_errors=True)
        part.replace(target)
    except OSError:
        shutil.rmtree(part, ignore_errors=True)
        raise
