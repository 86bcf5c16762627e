"""What the reader may read and change. Every object that a page, the API or a socket shows is fetched here.

A model says how it gets to its project in `project_path`; by default it has a field `project`, and rows without a
project are everybody's.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.db.models import Model, Q, QuerySet
from django.shortcuts import get_object_or_404

from webapp.projects.models import Membership, Project, Role
from webapp.projects.reader import Reader, reader

M = TypeVar("M", bound=Model)

KNOWN = "_project_access"  # on a user, for as long as its request


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """Roles by project; `everything` for the installation's administrators and for what nobody asked for."""

    everything: bool
    roles: Mapping[int, Role]

    def role_in(self, project_id: int | None) -> Role | None:
        if self.everything:
            return Role.ADMIN
        return Role.VIEWER if project_id is None else self.roles.get(project_id)

    def projects_with(self, needed: Role) -> list[int]:
        return [project for project, role in self.roles.items() if role.allows(needed)]


class RoleNeeded(PermissionDenied):
    """The user lacks the role `needed`. `heading` and `remedy` are for the page."""

    def __init__(self, needed: Role, heading: str, remedy: str) -> None:
        self.needed, self.heading, self.remedy = needed, heading, remedy
        super().__init__(f"{heading}. {remedy}")


def role_needed(project: Project | None, needed: Role, has: Role | None) -> RoleNeeded:
    """For a user who reads something in `project` and may not do this to it."""
    if project is None:
        heading = "Only an administrator of the installation can do this"
        return RoleNeeded(needed, heading, "It belongs to no project.")
    article = "an" if needed in (Role.EDITOR, Role.ADMIN) else "a"
    role = f"you are {'a' if has == Role.VIEWER else 'an'} {has.label.lower()}" if has else "you have no role"
    remedy = f"In the project {project.name} {role}. {who_can_give(project)}"
    return RoleNeeded(needed, f"Only {article} {needed.label.lower()} can do this", remedy)


def no_project() -> RoleNeeded:
    """For a user who may add nothing to any project."""
    remedy = "Create a project, or ask an admin of one for the role of editor."
    return RoleNeeded(Role.EDITOR, "You are not an editor of any project", remedy)


def who_can_give(project: Project) -> str:
    names = admins_of(project)
    if not names:
        return "Ask an administrator of this installation for the role."
    return f"Ask {' or '.join([', '.join(names[:-1]), names[-1]] if len(names) > 1 else names)} for the role."


def admins_of(project: Project) -> list[str]:
    """A few names."""
    admins = Membership.objects.filter(project=project, role=Role.ADMIN, user__is_active=True)
    return list(admins.values_list("user__username", flat=True)[:4])


def access_of(user: Reader) -> Access:
    if user is None:
        return Access(everything=True, roles={})
    if not user.is_authenticated:
        return Access(everything=False, roles={})
    known: Access | None = getattr(user, KNOWN, None)
    if known is None:
        everything = bool(user.is_staff or user.is_superuser)
        of_user = Membership.objects.filter(user=user.pk).order_by()
        rows = [] if everything else of_user.values_list("project_id", "role")
        known = Access(everything=everything, roles={project: Role(role) for project, role in rows})
        setattr(user, KNOWN, known)
    return known


def forget_access(user: Reader) -> None:
    """After a change of the user's roles within a request."""
    if hasattr(user, KNOWN):
        delattr(user, KNOWN)


def readable(rows: QuerySet[M]) -> QuerySet[M]:
    """Those of `rows` that the reader may read."""
    access = access_of(reader())
    if access.everything:
        return rows
    path = path_of(rows.model)
    readable = Q(**{f"{path}__in": list(access.roles)})
    return rows.filter(readable | Q(**{path: None}) if _may_have_none(rows.model) else readable)


def readable_in(path: str) -> Q:
    """For aggregates over related rows, whose project is at `path`: those that the reader may read."""
    access = access_of(reader())
    return Q() if access.everything else Q(**{f"{path}__in": list(access.roles)})


def readable_projects() -> QuerySet[Project]:
    return projects_with(Role.VIEWER)


def projects_with(needed: Role) -> QuerySet[Project]:
    """Those in which the reader has at least that role."""
    access = access_of(reader())
    found = Project.objects.all()
    return found if access.everything else found.filter(pk__in=access.projects_with(needed))


def can(row: Model, needed: Role) -> bool:
    """Whether the reader may do to `row` what needs that role."""
    return _may(reader(), row, needed)


def _may(user: Reader, row: Model, needed: Role) -> bool:
    access = access_of(user)
    role = access.role_in(project_id_of(row))
    return role is not None and role.allows(needed)


def require(row: Model, needed: Role) -> None:
    """`RoleNeeded` unless the reader has the role in the row's project."""
    require_of(reader(), row, needed)


def require_of(user: Reader, row: Model, needed: Role) -> None:
    """The same of any user."""
    if not _may(user, row, needed):
        project_id = project_id_of(row)
        project = Project.objects.get(pk=project_id) if project_id is not None else None
        raise role_needed(project, needed, access_of(user).role_in(project_id))


def fetch(rows: type[M] | QuerySet[M], *, needs: Role = Role.VIEWER, **which: Any) -> M:
    """The one row. What the reader may not read does not exist (404); what needs a higher role is `RoleNeeded`, which
    becomes 403."""
    every: QuerySet[M] = rows if isinstance(rows, QuerySet) else rows._default_manager.all()
    found = get_object_or_404(readable(every), **which)
    require(found, needs)
    return found


def share_a_project(user: User) -> bool:
    """Whether the reader is a member of a project of `user`, or an administrator."""
    access = access_of(reader())
    return access.everything or Membership.objects.filter(user=user, project__in=list(access.roles)).exists()


def path_of(model: type[Model]) -> str:
    return str(getattr(model, "project_path", "project"))


def project_id_of(row: Model) -> int | None:
    if isinstance(row, Project):
        return int(row.pk)
    *steps, last = path_of(type(row)).split("__")
    found: Any = row
    for step in steps:
        found = getattr(found, step)
    project_id: int | None = getattr(found, f"{last}_id")
    return project_id


def _may_have_none(model: type[Model]) -> bool:
    found: Any = model
    *steps, last = path_of(model).split("__")
    for step in steps:
        found = found._meta.get_field(step).related_model
    return last != "pk" and bool(found._meta.get_field(last).null)
