"""Copies of adapters for launches, made before the transaction that creates the runs: copying a large one takes longer
than others should wait for the database.

What launches runs in one transaction is decorated with `copies_first`. Where it needs a copy that there is none of yet,
`copy_of` ends the transaction; the adapter is copied, and everything is done again, with the copy. Runs that are
launched together take the same one.

After the launch nothing stays on disk that `keep_if` finds no use for: no copy, and no directory of a run that was not
created.
"""

from __future__ import annotations

import logging
import shutil
import uuid
from collections.abc import Callable
from contextlib import suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import wraps
from pathlib import Path
from typing import ParamSpec, TypeVar

from django.conf import settings
from django.db import DatabaseError, InterfaceError

from engine.errors import ModelError
from engine.starting_adapter import copy_adapter

FOLDER = ".adapters"  # among the directories of runs

P = ParamSpec("P")
R = TypeVar("R")
log = logging.getLogger(__name__)


class CopyNeeded(Exception):
    """Ends the transaction."""

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self.path = path


@dataclass(slots=True)
class _Launch:
    copies: dict[str, Path | ModelError | None] = field(default_factory=dict)  # by the path of the adapter
    needed: dict[Path, Callable[[], bool]] = field(default_factory=dict)

    def copy(self, path: str) -> None:
        target = copies_folder() / uuid.uuid4().hex
        try:
            self.copies[path] = target if copy_adapter(path, target, then="launch the run again") else None
        except ModelError as error:
            self.copies[path] = error

    def tidy(self) -> None:
        copies = [copy for copy in self.copies.values() if isinstance(copy, Path)]
        for directory in {**dict.fromkeys(copies), **self.needed}:
            try:
                kept = directory in self.needed and self.needed[directory]()
            except (DatabaseError, InterfaceError) as error:
                log.warning("%s may remain without use: %s", directory, error)
                continue
            if not kept:
                shutil.rmtree(directory, ignore_errors=True)
        if self.copies:
            with suppress(OSError):  # it has other copies, or never existed
                copies_folder().rmdir()


_current: ContextVar[_Launch | None] = ContextVar("launch", default=None)


def copies_first(act: Callable[P, R]) -> Callable[P, R]:
    """`act` may be called several times, so it must be one transaction, or repeatable. Within another launch, it is
    that one which begins again."""

    @wraps(act)
    def launching(*args: P.args, **kwargs: P.kwargs) -> R:
        if _current.get() is not None:
            return act(*args, **kwargs)
        launch = _Launch()
        token = _current.set(launch)
        try:
            while True:
                try:
                    return act(*args, **kwargs)
                except CopyNeeded as needed:
                    launch.copy(needed.path)
        finally:
            _current.reset(token)
            launch.tidy()

    return launching


def copy_of(path: str) -> Path | None:
    """This launch's copy of the adapter in `path`; None if files of it are missing, which the engine reports.
    `ModelError` if it could not be copied."""
    copies = _launch().copies
    if path not in copies:
        raise CopyNeeded(path)
    found = copies[path]
    if isinstance(found, ModelError):
        raise found
    return found


def keep_if(directory: Path, needed: Callable[[], bool]) -> None:
    """Asks the database after the launch; `directory` is removed if it was not needed after all."""
    _launch().needed[directory] = needed


def copies_folder() -> Path:
    return Path(settings.RUNS_DIR) / FOLDER


def _launch() -> _Launch:
    launch = _current.get()
    if launch is None:
        raise AssertionError("what launches runs is decorated with copies_first")
    return launch
