"""Imports rollouts of other trainers as a run: writes a run directory, which a worker then indexes."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from typing import Any

from django.contrib.auth.models import AnonymousUser, User
from django.db import transaction
from django.utils import timezone

from engine.events import Split
from engine.foreign.records import UNNAMED
from engine.foreign.run_directory import Report, Source, as_log, import_rollouts
from webapp.audit.services import Actor, record
from webapp.members.choices import project_for_new
from webapp.projects.models import Project
from webapp.runs.indexing import enqueue_index
from webapp.runs.lineage import join_lineage
from webapp.runs.models import Run
from webapp.runs.models.run import new_run_id
from webapp.runs.names import generated_name
from webapp.runs.states import RunState

PRESET = "imported"


def import_run(
    sources: Sequence[Source],
    *,
    origin: str,
    name: str = "",
    owner: User | AnonymousUser | None = None,
    split: Split | None = None,
    project: Project | None = None,
) -> tuple[Run | None, Report]:
    """Creates a finished run from the readable lines of `sources`; returns it with a report, or None if there are none.

    `origin` names the files. The run's steps and trajectories appear when a worker has indexed it.
    """
    run = new_run(origin=origin, name=name, owner=owner, project=project or project_for_new(owner))
    try:
        report = import_rollouts(sources, run.directory, split=split)
        if not report.rollouts:
            return None, report
        (run.directory / "engine.log").write_text(as_log(report))
        save_run(run, owner, steps=report.steps, environments=report.environments, summary=report.summary())
    except BaseException:
        shutil.rmtree(run.directory, ignore_errors=True)
        raise
    return run, report


def new_run(
    *, origin: str, name: str, owner: User | AnonymousUser | None, project: Project, key: str | None = None
) -> Run:
    """Not saved."""
    return Run(
        pk=key or new_run_id(),
        name=name.strip()[:80] or generated_name(),
        preset=PRESET,
        imported_from=origin[:200],
        owner=owner if isinstance(owner, User) else None,
        state=RunState.FINISHED,
        project=project,
    )


def save_run(run: Run, actor: Actor, *, steps: list[int], environments: list[str], summary: str) -> None:
    """With the facts of the report on its files, which a worker indexes then."""
    run.config = _config(steps, environments)
    run.state_reason = summary
    run.step = run.total_steps = max(steps)
    run.finished_at = timezone.now()
    join_lineage(run)
    with transaction.atomic():
        run.save(force_insert=True)
        record(run, actor, "import", files=run.imported_from)
    transaction.on_commit(lambda: enqueue_index(run.pk))


def _config(steps: list[int], environments: list[str]) -> dict[str, Any]:
    """The part of a configuration that lists of runs read; the files do not contain the real one."""
    tags = [{"tag": name, "kind": UNNAMED} for name in environments or [UNNAMED]]
    return {"preset": PRESET, "steps": max(steps), "environments": tags, "model": {"path": ""}}
