"""A run's own copy of the LoRA adapter that it starts from, in `start/adapter` of its directory. No torch.

The site copies it when the run is launched, a command when it starts. So a run that waits, or that resumes, has the
adapter as it was, even if its directory was changed or removed. Unlike a checkpoint, an adapter that somebody else
wrote may be changed in place, so its files are copied and not linked. Runs that are launched together have links to
one copy, which nobody changes.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from engine.config import RunConfig
from engine.errors import ModelError
from engine.forking import link_or_copy
from engine.policies.adapter_files import CONFIG, WEIGHTS

SOURCE = "copied_from.txt"  # in the copy: the path that the run's configuration gives
AT_LAUNCH = "copied_at_launch"  # in a copy that a first start keeps


def pin_adapter(config: RunConfig, directory: Path, *, again: bool) -> RunConfig:
    """`config` with the run's own copy of its adapter, created if absent, or with `again` in any case but one: a copy
    from `take_copy` is of the adapter that the run was launched with.

    `config` itself for a run without an adapter, and if the adapter's files are missing, which loading it reports.
    `ModelError` if the copy cannot be written.
    """
    pinned = with_pinned_adapter(config, directory)
    if pinned is not config and not (again and _replaceable(directory)):
        return pinned
    if not config.starts_from_adapter or not copy_adapter(config.model.adapter, _folder(directory)):
        return config
    return with_pinned_adapter(config, directory)


def copy_adapter(path: str, target: Path, *, then: str = "start the run again") -> bool:
    """Copies the adapter in `path` to the directory `target`, with `path` itself; False if files of it are missing.
    `ModelError` if the copy cannot be written: the user is to make room and `then`."""
    source = _expanded(path)
    if not all((source / name).is_file() for name in (CONFIG, WEIGHTS)):
        return False
    try:
        with _all_or_nothing(target) as part:
            for name in (CONFIG, WEIGHTS):
                shutil.copyfile(source / name, part / name)
            (part / SOURCE).write_text(path)
    except OSError as error:
        raise ModelError(
            f"The adapter in {source} could not be copied into the directory of runs: {error.strerror or error}.",
            remedy=f"Check disk space and permissions, then {then}.",
        ) from error
    return True


def take_copy(copy: Path, directory: Path) -> None:
    """The run in `directory` starts from the adapter as `copy_adapter` left it in `copy`. `ModelError` if that is gone
    or cannot be linked."""
    try:
        with _all_or_nothing(_folder(directory)) as part:
            for name in (CONFIG, WEIGHTS, SOURCE):
                link_or_copy(str(copy / name), str(part / name))
            (part / AT_LAUNCH).touch()
    except OSError as error:
        raise ModelError(
            f"The copy {copy} of the adapter could not be put into the run's directory: {error.strerror or error}.",
            remedy="If it was removed, restore it from a backup; otherwise check disk space and permissions.",
        ) from error


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


def _replaceable(directory: Path) -> bool:
    return not (_folder(directory) / AT_LAUNCH).is_file()


def _folder(directory: Path) -> Path:
    return directory / "start" / "adapter"


def _resolved(path: str) -> Path:
    return _expanded(path).resolve()


def _expanded(path: str) -> Path:
    try:
        return Path(path).expanduser()
    except RuntimeError:  # the home of a user who does not exist
        return Path(path)


@contextmanager
def _all_or_nothing(target: Path) -> Iterator[Path]:
    """An empty directory that replaces `target` once it is filled."""
    part = target.with_name(f".{target.name}.{os.getpid()}.part")
    shutil.rmtree(part, ignore_errors=True)
    part.mkdir(parents=True)
    try:
        yield part
        shutil.rmtree(target, ignore_errors=True)
        part.replace(target)
    except OSError:
        shutil.rmtree(part, ignore_errors=True)
        raise
