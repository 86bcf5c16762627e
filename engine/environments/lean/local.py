"""Checks proofs with a Lean toolchain of this machine, by the package lean-interact.

It needs git and elan, and builds a REPL at its first use. Lean runs code while it checks a proof and is not isolated
here: what a proof may contain is restricted, but that is no sandbox. So only an administrator may choose it.
"""

from __future__ import annotations

import os
import threading
from functools import lru_cache
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from engine.environments.lean.rules import Check, Standing, judged
from engine.environments.lean.theorems import Theorem
from engine.errors import ConfigError, EnvironmentUnavailable


class LocalLean:
    """One REPL, used by one thread at a time. A proof that crashes or blocks it restarts it."""

    def __init__(self, project: str, check_seconds: int) -> None:
        self.check_seconds = check_seconds
        self._package: Any = import_module("lean_interact")
        self._lock = threading.Lock()
        try:
            found = {"project": self._package.LocalProject(directory=project)} if project else {}
            self._repl: Any = self._package.AutoLeanServer(self._package.LeanREPLConfig(**found))
        except Exception as error:  # git, elan and lake fail in many ways
            raise EnvironmentUnavailable(
                f"The local Lean toolchain cannot be used: {type(error).__name__}: {error}",
                remedy="Install git and elan, or use a Lean server.",
            ) from error

    def check(self, text: str, theorem: Theorem) -> Check:
        with self._lock:
            try:
                response = self._repl.run(self._package.Command(cmd=text), timeout=self.check_seconds)
            except TimeoutError as error:
                return Check(Standing.TIMED_OUT, str(error))
            except (ConnectionAbortedError, MemoryError) as error:  # the proof took the REPL down
                return Check(Standing.FAILED, str(error))
        return judged(response.model_dump(by_alias=True, exclude_none=True), theorem)


def local_lean(project: str, check_seconds: int) -> LocalLean:
    """The toolchain that a process shares; `ConfigError` where lean-interact is not installed."""
    if find_spec("lean_interact") is None:
        raise ConfigError(
            "The local Lean toolchain needs lean-interact, which is not installed.",
            remedy="Install it with: pip install 'lean-interact>=0.11,<0.12'; or use a Lean server.",
        )
    return _local(project, check_seconds, os.getpid())


@lru_cache(maxsize=2)
def _local(project: str, check_seconds: int, process: int) -> LocalLean:
    return LocalLean(project, check_seconds)
