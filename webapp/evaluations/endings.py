"""How the runs of the leaderboard's shown rows ended: a high rate of a run that collapsed later is still its own."""

from __future__ import annotations

from collections.abc import Iterable

from django.db.models.fields.json import KeyTextTransform

from webapp.evaluations.leaderboard import Table
from webapp.runs.models import Run
from webapp.runs.states import finished_as


def add_endings(tables: Iterable[Table]) -> None:
    """Sets `ended_as` of the shown entries."""
    entries = [entry for table in tables for entry in (*table.shown, *table.shown_other_protocols)]
    rows = Run.objects.filter(pk__in={entry.run_id for entry in entries}).values_list(
        "pk", KeyTextTransform("label", "verdict"), KeyTextTransform("ended_by", "verdict")
    )
    found = {pk: finished_as(label or "", ended_by or "") for pk, label, ended_by in rows}
    for entry in entries:
        entry.ended_as = found.get(entry.run_id, "")
