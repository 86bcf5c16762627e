"""The parts of runs' configurations that the leaderboard shows, cached per process: the configuration of a run never
changes, and parsing it costs more than everything else in a row."""

from __future__ import annotations

import sys
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from django.db.models.fields.json import KeyTextTransform, KeyTransform

from webapp.runs.models import Run

MOST = 100_000  # cached runs; further ones are read every time
BATCH = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFacts:
    """`environments` is JSON; `think` and `context` (in tokens) are texts for pages."""

    environments: str
    model: str
    think: str
    context: str


_known: dict[str, RunFacts] = {}


def facts_of(run_ids: Collection[str]) -> Mapping[str, RunFacts]:
    """The facts of each run; all `run_ids` must exist."""
    found = {pk: _known[pk] for pk in run_ids if pk in _known}
    missing = [pk for pk in run_ids if pk not in found]
    for start in range(0, len(missing), BATCH):
        read = _read(missing[start : start + BATCH])
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
            think="on" if str(think).lower() in {"true", "1"} else "off",  # databases return it in different forms
            context=str(context),
        )
        for pk, environments, model, think, context in rows
    }
