"""What the list shows of a trajectory, as text: templates take several times as long to format numbers and to look up
attributes, and a page has fifty rows."""

from __future__ import annotations

from typing import Any

from django.urls import reverse

from webapp.trajectories.faults import kinds_in, label_of
from webapp.trajectories.models import Trajectory

HELD_OUT = "validation"


def row_cells(row: Trajectory) -> dict[str, Any]:
    """By the name that the template uses; empty for a number that the row does not have."""
    held_out = row.split == HELD_OUT
    return {
        "pk": str(row.pk),
        "address": reverse("trajectories:detail", args=[row.run_id, row.pk]),
        "title": f"step {row.step}, group {row.group}, member {row.member}",
        "name": f"step {row.step} · " + (f"held-out {row.group}" if held_out else f"{row.group}.{row.member}"),
        "removed": row.removed,
        "superseded": row.superseded,
        "attempt": str(row.attempt),
        "success": row.success,
        "environment": row.environment,
        "seed": str(row.seed),
        "episode_return": f"{row.episode_return:.2f}",
        "advantage": "" if row.advantage is None else f"{row.advantage:+.2f}",
        "group_std": "" if row.group_std is None else f"{row.group_std:.2f}",
        "surplus": str(row.surplus) if row.surplus else "",
        "turns": str(row.turns),
        "response_tokens": str(row.response_tokens),
        "faults": [label_of(kind) for kind in kinds_in(row.faults)],
        "parse_failures": str(row.parse_failures) if row.parse_failures else "",
        "kept": {True: "kept", False: "dropped", None: ""}[row.kept],
        "stop": row.stop,
    }
