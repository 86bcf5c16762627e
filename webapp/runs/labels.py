"""The project, tags and notes that users give to runs, whatever the state of the run."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django.db import transaction

from webapp.audit.services import Actor, record
from webapp.members.choices import project_named
from webapp.projects.access import require_of
from webapp.projects.models import Project, Role
from webapp.runs.models import Run, RunTag
from webapp.runs.services import refresh_and_publish

LONGEST_TAG = 40
LONGEST_NOTES = 20_000
MOST_TAGS = 20


def parse_tags(text: str) -> list[str]:
    """`text` has tags between commas. Spaces around them, repetitions and a leading # do not count."""
    words = (word.strip().removeprefix("#").strip()[:LONGEST_TAG] for word in text.replace("\0", "").split(","))
    return list(dict.fromkeys(word for word in words if word))[:MOST_TAGS]


@transaction.atomic
def label(
    run: Run,
    user: Actor,
    *,
    project: str | None = None,
    tags: Iterable[str] | None = None,
    notes: str | None = None,
) -> bool:
    """Sets all that is given, or nothing if part of it is refused; False if nothing of it is new. NUL, which PostgreSQL
    cannot store, is left out. `project` is a name or slug, and changes nothing if empty."""
    named = (project or "").replace("\0", "").strip()
    moved = bool(named) and move_to(run, project_named(user, named), user)
    before = list(run.tags.values_list("name", flat=True))
    wanted = before if tags is None else sorted(set(tags))[:MOST_TAGS]
    new = notes.replace("\0", "").strip()[:LONGEST_NOTES] if notes is not None else run.notes
    fields = {"notes": new} if new != run.notes else {}
    changes: dict[str, Any] = {}
    if wanted != before:
        changes["tags"] = {"old": ", ".join(before) or "none", "new": ", ".join(wanted) or "none"}
    if not fields and not changes:
        return moved
    if fields:
        Run.objects.filter(pk=run.pk).update(**fields)
    run.tags.exclude(name__in=wanted).delete()
    RunTag.objects.bulk_create([RunTag(run=run, name=name) for name in wanted], ignore_conflicts=True)
    run.refresh_from_db()
    run.list_again()
    detail: dict[str, Any] = {"notes": "edited"} if "notes" in fields else {}
    record(run, user, "label", changes=changes, **detail)
    return refresh_and_publish(run)


@transaction.atomic
def move_to(run: Run, project: Project, user: Actor) -> bool:
    """Moves the run to another project, with its evaluations on suites; with a run of a sweep all of the sweep. That
    takes it from the members of the former one, so it needs an admin there."""
    if run.project_id == project.pk:
        return False
    planned = getattr(run, "planned", None)
    sweep = planned.sweep if planned is not None else None
    moved = list(Run.objects.filter(planned__sweep=sweep)) if sweep is not None else [run]
    for one in {one.project_id: one for one in moved}.values():
        require_of(user, one, Role.ADMIN)
    if sweep is not None:
        type(sweep).objects.filter(pk=sweep.pk).update(project=project)
    for one in moved:
        changes = {"project": {"old": one.project.name, "new": project.name}}
        Run.objects.filter(pk=one.pk).update(project=project)
        one.suite_evaluations.update(project=project)
        one.refresh_from_db()
        one.list_again()
        record(one, user, "label", changes=changes)
    run.refresh_from_db()
    return refresh_and_publish(run)


def add_tags(run: Run, tags: list[str], user: Actor) -> bool:
    return label(run, user, tags=[*run.tags.values_list("name", flat=True), *tags])


def remove_tags(run: Run, tags: list[str], user: Actor) -> bool:
    return label(run, user, tags=set(run.tags.values_list("name", flat=True)) - set(tags))
