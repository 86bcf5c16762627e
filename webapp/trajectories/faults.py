"""Kinds of faults in the responses of a trajectory, as stored in its row: ` no_think unclosed `, each once.

`engine.rollout.action_parser` names them.
"""

from __future__ import annotations

from collections.abc import Iterable

from django.db.models import Q

from engine.metrics import GLOSSARY
from engine.rollout.action_parser import PARSE_CASES

FINE = "ok"
KINDS = tuple(case for case in PARSE_CASES if case != FINE)


def label_of(case: str) -> str:
    """The glossary's label of a fault; empty for a response without one."""
    if case == FINE:
        return ""
    metric = GLOSSARY.get(f"rollout/parse/{case}")
    return metric.title.removeprefix("Responses: ") if metric else case


def as_column(cases: Iterable[str]) -> str:
    """The known faults among `cases`, in the parser's order; empty if there are none."""
    seen = set(cases)
    kinds = [kind for kind in KINDS if kind in seen]
    return f" {' '.join(kinds)} " if kinds else ""


def kinds_in(column: str) -> list[str]:
    return column.split()


def with_kind(kind: str) -> Q:
    # the first condition is that of a partial index without the many rows that have no fault
    return Q(faults__gt="") & Q(faults__contains=f" {kind} ")
