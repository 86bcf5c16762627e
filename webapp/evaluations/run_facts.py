"""What the leaderboard reads of runs' configurations. A run keeps the one that it was launched with, and to take it
apart costs more than all the rest of a row, so each process does it once."""

from __future__ import annotations

import sys
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from django.db.models.fields.json import KeyTextTransform, KeyTransform

from webapp.runs.models import Run

MOST = 100_000  # runs that are remembered; those that come after them are read every time
AT_ONCE = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFacts:
    """`environments` as JSON; `think` and `context`, in tokens, as pages write them."""

    environments: str
    model: str
    think: str
    context: str


_known: dict[str, RunFacts] = {}


def facts_of(run_ids: Collection[str]) -> Mapping[str, RunFacts]:
    """For each of `run_ids`, all of which are rows."""
    found = {pk: _known[pk] for pk in run_ids if pk in _known}
    missing = [pk for pk in run_ids if pk not in found]
    for start in range(0, len(missing), AT_ONCE):
        read = _read(missing[start : start + AT_ONCE])
        found.update(read)
        if len(_known) + len(read) <= MOST:
            _known.update(read)
    return found


def _read(run_ids: list[str]) -> dict[str, RunFacts]:
    rows = Run.objects.filter(pk__in=run_ids).values_list(
        "pk",
        KeyTextTransform("environments", "config"),
        KeyTextTransform("path", KeyTransform("model", "config")),
        KeyTextTransform("think", KeyTransform("rollout", "config")),
        KeyTextTransform("max_context_tokens", KeyTransform("rollout", "config")),
    )
    return {
        pk: RunFacts(
            environments=sys.intern(environments or "[]"),  # many runs, few environments
            model=sys.intern(model or ""),
            think="on" if str(think).lower() in {"true", "1"} else "off",  # databases give it in more than one way
            context=str(context),  # likewise
        )
        for pk, environments, model, think, context in rows
    }
