"""Kinds of faults in the responses of a trajectory, as its row keeps them: ` no_think unclosed `, each once.

`engine.rollout.action_parser` names them. A response with too many actions is well-formed, and is listed with its kind.
"""

from __future__ import annotations

from collections.abc import Iterable

from django.db.models import Q

from engine.metrics import GLOSSARY
from engine.rollout.action_parser import PARSE_CASES

FINE = "ok"
KINDS = tuple(case for case in PARSE_CASES if case != FINE)


def words_of(case: str) -> str:
    """What was wrong with a response, in the glossary's words; empty for one without fault."""
    if case == FINE:
        return ""
    metric = GLOSSARY.get(f"rollout/parse/{case}")
    return metric.title.removeprefix("Responses: ") if metric else case


def as_column(cases: Iterable[str]) -> str:
    """Those of `cases` that the parser knows, in its order; empty where all responses were fine."""
    seen = set(cases)
    kinds = [kind for kind in KINDS if kind in seen]
    return f" {' '.join(kinds)} " if kinds else ""


def kinds_in(column: str | None) -> list[str]:
    return (column or "").split()


def with_kind(kind: str) -> Q:
    # the first condition is that of an index, which has none of the many rows without a fault
    return Q(faults__gt="") & Q(faults__contains=f" {kind} ")
