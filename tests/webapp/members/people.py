"""Users with a role in a project."""

from __future__ import annotations

from django.contrib.auth.models import User

from webapp.projects.models import Membership, Project, Role, default_project


def a_member(name: str, role: Role = Role.EDITOR, project: Project | None = None) -> User:
    """A new user; the project of a new installation by default."""
    user = User.objects.create_user(name)
    join(user, role, project or default_project())
    return user


def join(user: User, role: Role, project: Project) -> None:
    Membership.objects.update_or_create(project=project, user=user, defaults={"role": role})


def a_project(name: str = "Lakes", **roles: Role) -> Project:
    """With a new user for each name."""
    project = Project.objects.create(name=name, slug=name.lower())
    for who, role in roles.items():
        a_member(who, role, project)
    return project
