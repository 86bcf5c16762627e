"""Adopts run directories that the database has no runs for, after it was lost: each becomes a run with all its rows."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from django.contrib.auth.models import User
from django.db import transaction
from pydantic import ValidationError

from engine.config import RunConfig
from engine.event_lines import parse_event
from engine.events import Event, RunFailed, RunFinished, RunStarted
from engine.line_files import lines_from_the_end
from webapp.audit.services import record
from webapp.members.choices import project_named
from webapp.projects.models import default_project
from webapp.runs.labels import label
from webapp.runs.lineage import join_lineage
from webapp.runs.models import Run
from webapp.runs.names import generated_name
from webapp.runs.states import USUAL_CAUSES, RunState
from workers.about_run import AboutRun, read_about
from workers.endings import cause_of
from workers.process import lock_is_held
from workers.rebuilding import rebuild

ID = re.compile(r"[0-9a-z]{10}")
CUT_OFF = "The database was lost while it ran. Resume continues from its newest checkpoint."


@dataclass(frozen=True, slots=True, kw_only=True)
class Adoption:
    """Of one directory. Without a run, `refused` says why."""

    directory: Path
    run: Run | None = None
    refused: str = ""


def adopt_all(folder: Path) -> Iterator[Adoption]:
    """Parents before their forks. Directories of runs that the database has are left alone."""
    there = [directory for directory in folder.iterdir() if (directory / "events.jsonl").exists()]
    known = set(Run.objects.filter(pk__in=[directory.name for directory in there]).values_list("pk", flat=True))
    for directory in sorted((one for one in there if one.name not in known), key=_age):
        yield adopt(directory)


def adopt(directory: Path) -> Adoption:
    try:
        config = RunConfig.model_validate(json.loads((directory / "config.json").read_bytes()))
    except (OSError, ValueError) as error:
        reason = "its config.json does not fit this version" if isinstance(error, ValidationError) else str(error)
        return Adoption(directory=directory, refused=reason)
    if not ID.fullmatch(directory.name):
        return Adoption(directory=directory, refused="its name is not the ID of a run")
    if lock_is_held(directory / "lock"):
        return Adoption(directory=directory, refused="its engine is running: end the pid in its heartbeat.json")
    newest = _newest(directory)
    if newest is None:
        return Adoption(directory=directory, refused="its events.jsonl has no event")
    return Adoption(directory=directory, run=_run_of(directory, config, newest))


@transaction.atomic
def _run_of(directory: Path, config: RunConfig, newest: Event) -> Run:
    begun = datetime.fromtimestamp(_age(directory), UTC)
    about = read_about(directory) or AboutRun(name=generated_name(), preset=config.preset, created_at=begun)
    end = _end_of(directory, newest)
    state, reason, remedy = _state_after(end)
    run = Run(
        pk=directory.name,
        name=about.name[:80],
        owner=User.objects.filter(username=about.owner).first() if about.owner else None,
        preset=about.preset,
        project=project_named(None, about.project) if about.project else default_project(),
        notes=about.notes,
        created_at=about.created_at,
        queued_at=about.created_at,
        config=config.model_dump(mode="json"),
        settings_changes=about.settings_changes,
        settings_revision=about.settings_revision,
        total_steps=config.steps,
        state=state,
        state_reason=reason,
        state_remedy=remedy,
        attempt=newest.attempt,
        epoch=newest.epoch,
        end_cause=(end and cause_of(end)) or USUAL_CAUSES[state],
        finished_at=datetime.fromtimestamp((end or newest).time, UTC),
    )
    join_lineage(run)
    run.save(force_insert=True)
    run.list_again()
    record(run, None, "adopt")
    if about.tags:
        label(run, None, tags=about.tags)
    return rebuild(run.pk)


def _end_of(directory: Path, newest: Event) -> RunFinished | RunFailed | None:
    """With which its newest attempt reported its end, if it did. Evaluations of its checkpoints may follow, and what
    its cluster released."""
    for event in _from_the_end(directory):
        if event.attempt != newest.attempt or isinstance(event, RunStarted):
            return None
        if isinstance(event, RunFinished | RunFailed):
            return event
    return None


def _state_after(end: RunFinished | RunFailed | None) -> tuple[RunState, str, str]:
    match end:
        case RunFinished(outcome="stopped"):
            return RunState.STOPPED, end.reason, ""
        case RunFinished():
            return RunState.FINISHED, end.reason, ""
        case RunFailed():
            return RunState.FAILED, f"{end.error}: {end.message}", end.remedy
        case None:
            return RunState.STOPPED, CUT_OFF, ""


def _newest(directory: Path) -> Event | None:
    return next(_from_the_end(directory), None)


def _from_the_end(directory: Path) -> Iterator[Event]:
    for line in lines_from_the_end(directory / "events.jsonl"):
        try:
            yield parse_event(line)
        except ValueError:
            continue


def _age(directory: Path) -> float:
    """When it was created, as far as is known: a fork is younger than its parent."""
    about = read_about(directory)
    if about is not None:
        return about.created_at.timestamp()
    with (directory / "events.jsonl").open("rb") as lines:
        for line in lines:
            try:
                return parse_event(line).time
            except ValueError:
                continue
    return (directory / "events.jsonl").stat().st_mtime
