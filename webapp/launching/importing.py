"""Runs made of rollouts that other trainers wrote. The files become a run directory; a worker brings it into rows."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from typing import Any

from django.contrib.auth.models import AnonymousUser, User
from django.db import transaction
from django.utils import timezone

from engine.foreign.run_directory import UNNAMED, Report, Source, Split, as_log, import_rollouts
from webapp.audit.services import record
from webapp.runs.indexing import send_for_index
from webapp.runs.models import Run
from webapp.runs.names import memorable_name
from webapp.runs.states import RunState

PRESET = "imported"
MOST_MEGABYTES = 64
MOST_FILES = 100


def import_run(
    sources: Sequence[Source],
    *,
    origin: str,
    name: str = "",
    owner: User | AnonymousUser | None = None,
    split: Split | None = None,
) -> tuple[Run | None, Report]:
    """A finished run of what can be read in `sources`, and what became of the lines; no run where none could be.

    `origin` says where they are from. Its rows of steps and trajectories come when a worker has indexed it.
    """
    run = Run(
        name=name.strip()[:80] or memorable_name(),
        preset=PRESET,
        imported_from=origin[:200],
        owner=owner if isinstance(owner, User) else None,
        state=RunState.FINISHED,
    )
    try:
        report = import_rollouts(sources, run.directory, split=split)
        if not report.rollouts:
            return None, report
        (run.directory / "engine.log").write_text(as_log(report))
        run.config = _config(report)
        run.state_reason = report.in_words()
        run.step = run.total_steps = max(report.steps)
        run.finished_at = timezone.now()
        run.save(force_insert=True)
        record(run, owner, "import", files=run.imported_from)
    except BaseException:
        shutil.rmtree(run.directory, ignore_errors=True)
        raise
    transaction.on_commit(lambda: send_for_index(run.pk))
    return run, report


def _config(report: Report) -> dict[str, Any]:
    """What lists ask of a run's configuration; how it was really configured, its files do not say."""
    names = report.environments or [UNNAMED]
    environments = [{"tag": name, "kind": UNNAMED} for name in names]
    return {"preset": PRESET, "steps": max(report.steps), "environments": environments, "model": {"path": ""}}
