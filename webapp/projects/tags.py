"""Template filters by which pages show only what the reader may do."""

from __future__ import annotations

from django import template
from django.db.models import Model

from webapp.projects import access
from webapp.projects.models import Project, Role

register = template.Library()


@register.filter
def can_edit(row: Model | None) -> bool:
    return row is not None and access.can(row, Role.EDITOR)


@register.filter
def can_administer(row: Model | None) -> bool:
    return row is not None and access.can(row, Role.ADMIN)


@register.filter
def can_read(row: Model | None) -> bool:
    return row is not None and access.can(row, Role.VIEWER)


@register.simple_tag
def edits_somewhere() -> bool:
    """Whether the reader may add something to any project."""
    return access.projects_with(Role.EDITOR).exists()


@register.simple_tag
def several_projects() -> bool:
    """Whether the reader sees more than one."""
    return access.readable_projects()[:2].count() > 1


@register.simple_tag
def editable_projects() -> list[Project]:
    return list(access.projects_with(Role.EDITOR))


@register.simple_tag
def project_admins(project: Project) -> str:
    """Who can give roles in it, for a tooltip."""
    return ", ".join(access.admins_of(project)) or "an administrator of this installation"
