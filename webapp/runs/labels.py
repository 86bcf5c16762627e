"""The project, tags and notes that users give to runs, whatever the state of the run."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django.db import transaction

from webapp.audit.services import Actor, record
from webapp.runs.models import Run, RunTag
from webapp.runs.services import refresh_and_publish

LONGEST_TAG = 40
LONGEST_PROJECT = 80
LONGEST_NOTES = 20_000
MOST_TAGS = 20


def parse_tags(text: str) -> list[str]:
    """`text` has tags between commas. Spaces around them, repetitions and a leading # do not count."""
    words = (word.strip().removeprefix("#").strip()[:LONGEST_TAG] for word in text.split(","))
    return list(dict.fromkeys(word for word in words if word))[:MOST_TAGS]


def label(
    run: Run,
    user: Actor,
    *,
    project: str | None = None,
    tags: Iterable[str] | None = None,
    notes: str | None = None,
) -> bool:
    """Sets what is given; False if nothing of it is new."""
    before = list(run.tags.values_list("name", flat=True))
    wanted = before if tags is None else sorted(set(tags))[:MOST_TAGS]
    values = {"project": project, "notes": notes}
    limits = {"project": LONGEST_PROJECT, "notes": LONGEST_NOTES}
    new = {name: value.strip()[: limits[name]] for name, value in values.items() if value is not None}
    fields = {name: value for name, value in new.items() if value != getattr(run, name)}
    changes: dict[str, Any] = {}
    if "project" in fields:
        changes["project"] = {"old": run.project or "none", "new": fields["project"] or "none"}
    if wanted != before:
        changes["tags"] = {"old": ", ".join(before) or "none", "new": ", ".join(wanted) or "none"}
    if not fields and not changes:
        return False
    with transaction.atomic():
        if fields:
            Run.objects.filter(pk=run.pk).update(**fields)
        run.tags.exclude(name__in=wanted).delete()
        RunTag.objects.bulk_create([RunTag(run=run, name=name) for name in wanted], ignore_conflicts=True)
        run.refresh_from_db()
        run.list_again()
        detail: dict[str, Any] = {"notes": "edited"} if "notes" in fields else {}
        record(run, user, "label", changes=changes, **detail)
    return refresh_and_publish(run)


def add_tags(run: Run, tags: list[str], user: Actor) -> bool:
    return label(run, user, tags=[*run.tags.values_list("name", flat=True), *tags])


def remove_tags(run: Run, tags: list[str], user: Actor) -> bool:
    return label(run, user, tags=set(run.tags.values_list("name", flat=True)) - set(tags))
