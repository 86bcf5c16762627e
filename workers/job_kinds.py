"""The kinds of jobs that workers play."""

from __future__ import annotations

from typing import Any

from workers.evaluations import HeldEvaluation
from workers.held_jobs import HeldJob
from workers.imports import HeldImport
from workers.preflights import HeldPreflight
from workers.suite_evaluations import HeldSuiteEvaluation
from workers.what_if import HeldWhatIf

KINDS: tuple[type[HeldJob[Any]], ...] = (
    HeldWhatIf,
    HeldPreflight,
    HeldEvaluation,
    HeldSuiteEvaluation,
    HeldImport,
)
