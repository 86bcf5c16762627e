"""Changes to environments: define, edit, archive, and the rule of versions.

A version that a run has used never changes: editing creates the next one. An unused version is edited in place.
"""

from __future__ import annotations

from django.contrib.auth.models import User
from django.db import transaction
from django.utils import timezone

from engine.config import EnvironmentConfig
from webapp.audit.services import Actor, record_of
from webapp.environments.differences import differences, with_defaults
from webapp.environments.measuring import measure_soon
from webapp.environments.models import EnvironmentDefinition, EnvironmentVersion
from webapp.projects.models import Project, default_project


def define(
    *, name: str, config: EnvironmentConfig, owner: User | None = None, project: Project | None = None
) -> EnvironmentVersion:
    """A new environment and its version 1, by default in the project of a new installation."""
    with transaction.atomic():
        made = define_unmeasured(name=name, config=config, owner=owner, project=project or default_project())
        record_of(made.definition, owner, "create")
    return measure_soon(made)


def define_unmeasured(
    *, name: str, config: EnvironmentConfig, owner: User | None = None, project: Project | None = None
) -> EnvironmentVersion:
    """The same, measured when a worker next looks for environments without facts. Without a project, everybody reads
    it."""
    with transaction.atomic():
        definition = EnvironmentDefinition.objects.create(name=name, owner=owner, project=project)
        return _add_version(definition, 1, config)


def edit(
    definition: EnvironmentDefinition, user: Actor = None, *, name: str, config: EnvironmentConfig
) -> EnvironmentVersion:
    """The version with `config`: the newest one unchanged, changed in place, or a new one."""
    with transaction.atomic():
        locked = EnvironmentDefinition.objects.select_for_update().get(pk=definition.pk)
        old_name, old_config = locked.name, locked.latest.config
        version = _edited(locked, name, config)
        rows = differences([old_config, version.config]).differing
        changes = {row.key: {"old": row.values[0], "new": row.values[1]} for row in rows}
        if name != old_name:
            changes["name"] = {"old": old_name, "new": name}
        if changes:
            record_of(locked, user, "edit", version=version.number, changes=changes)
    definition.refresh_from_db()
    return version if version.facts else measure_soon(version)


def _edited(locked: EnvironmentDefinition, name: str, config: EnvironmentConfig) -> EnvironmentVersion:
    if name != locked.name:
        locked.name = name
        locked.save(update_fields=["name"])
    newest = locked.latest
    if with_defaults(newest.config) == with_defaults(config.model_dump(mode="json")):
        return newest
    if newest.runs.exists():
        return _add_version(locked, newest.number + 1, config)
    newest.config, newest.facts = config.model_dump(mode="json"), {}
    newest.save(update_fields=["config", "facts"])
    return newest


@transaction.atomic
def archive(definition: EnvironmentDefinition, user: Actor = None) -> None:
    """Hides it from lists and choices. Its runs keep it."""
    EnvironmentDefinition.objects.filter(pk=definition.pk, archived_at=None).update(archived_at=timezone.now())
    record_of(definition, user, "hide")


@transaction.atomic
def unarchive(definition: EnvironmentDefinition, user: Actor = None) -> None:
    EnvironmentDefinition.objects.filter(pk=definition.pk).update(archived_at=None)
    record_of(definition, user, "restore")


def _add_version(definition: EnvironmentDefinition, number: int, config: EnvironmentConfig) -> EnvironmentVersion:
    return definition.versions.create(number=number, config=config.model_dump(mode="json"))
