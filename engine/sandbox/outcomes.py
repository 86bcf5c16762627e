"""What is run in a sandbox, within which limits, and how it can end."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Limits of each case, besides `total_seconds`, which is that of all cases of an answer."""

    seconds: float = 4.0
    total_seconds: float = 30.0
    memory_bytes: int = 512 * 2**20  # of each process
    processes: int = 8  # with threads
    output_bytes: int = 2**20  # of stdout, of stderr, and of a returned value each
    scratch_bytes: int = 16 * 2**20


@dataclass(frozen=True, slots=True)
class Program:
    """The code is run as a program that reads `stdin`."""

    stdin: str = ""


@dataclass(frozen=True, slots=True)
class Call:
    """`function` of the code, or of its class `Solution`, is called with `arguments`, which are JSON values."""

    function: str
    arguments: Sequence[Any] = ()


Case = Program | Call


class Outcome(StrEnum):
    FINISHED = "finished"
    NOT_PYTHON = "not_python"  # the code cannot be compiled, whatever the case
    RAISED = "raised"  # an exception, an exit status other than 0, or no returned value
    TIMED_OUT = "timed_out"
    OUT_OF_MEMORY = "out_of_memory"
    OUTPUT_OVERFLOW = "output_overflow"
    KILLED = "killed"  # by a signal, such as a segmentation fault
    NOT_RUN = "not_run"  # the time of all cases was over
    SANDBOX_FAILED = "sandbox_failed"  # nothing the code did


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseResult:
    """`value` is the JSON text of what a call returned. It was written by untrusted code: it may not be JSON at all."""

    outcome: Outcome
    stdout: str = ""
    value: str | None = None
    error: str = ""
    seconds: float = 0.0
