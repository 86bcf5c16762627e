"""How the runs of the leaderboard's shown rows ended: a high rate of a run that collapsed later is still its own."""

from __future__ import annotations

from collections.abc import Collection

from django.db.models.fields.json import KeyTextTransform

from webapp.runs.models import Run
from webapp.runs.states import finished_as


def endings_of(run_ids: Collection[str]) -> dict[str, str]:
    """By run, as pages show it."""
    rows = Run.objects.filter(pk__in=run_ids).values_list(
        "pk", KeyTextTransform("label", "verdict"), KeyTextTransform("ended_by", "verdict")
    )
    return {pk: finished_as(label or "", ended_by or "") for pk, label, ended_by in rows}
