"""What an open page of a run shows and is sent whenever the run changes."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from webapp.audit.services import settings_authors
from webapp.evaluations.requests import newest_requests
from webapp.runs.models import Run
from webapp.runs.queue import standings
from webapp.runs.usage import usage
from webapp.runs.verdicts import status_of


def run_snapshot(run: Run) -> dict[str, Any]:
    """The live state with the run's status, its verdict, and its usage.

    `queue` is where it stands in the queue, or what it holds up while it is paused; None where neither is so.
    `audited` counts its audit entries, including refused requests; `settings_by` has who requested which settings.
    """
    standing = standings([run]).get(run.pk)
    return {
        **run.live_state(),
        "status": asdict(status_of(run)),
        "verdict": run.verdict or None,
        "queue": standing.as_json() if standing else None,
        "usage": usage(run),
        "audited": run.audit.count(),
        "evaluation_requests": newest_requests(run),
        "settings_by": settings_authors(run) if run.settings_revision else {},
    }
