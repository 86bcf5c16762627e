"""Which project something new belongs to."""

from __future__ import annotations

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Q
from django.http import Http404
from django.utils.text import slugify

from webapp.audit.services import Actor, record_of
from webapp.projects.access import access_of, forget_access, no_project, role_needed
from webapp.projects.models import LONGEST_NAME, Membership, Project, Role, default_project

RESERVED = ("new", "join", "-")  # addresses


def project_for_new(user: Actor, wanted: str = "", *, like: Project | None = None, create: bool = False) -> Project:
    """The project `wanted`; else that of `like`, which the new thing is made from; else the user's usual one. What no
    user asked for is made where `like` is. `RoleNeeded` if the user may not add to it; with `create`, one that the
    user does not know of is created."""
    if wanted.strip():
        return project_named(user, wanted, create=create)
    access = access_of(user)
    usual = default_project()
    for candidate in (like, usual):
        role = access.role_in(candidate.pk) if candidate is not None else None
        if candidate is not None and role is not None and role.allows(Role.EDITOR):
            return candidate
    own = Project.objects.filter(pk__in=access.projects_with(Role.EDITOR)).order_by("pk").first()
    if own is None:
        raise no_project()
    return own


def project_named(user: Actor, text: str, *, create: bool = True) -> Project:
    """The project with this name or slug that the user may add to. If the user knows of none, it is created, with the
    user as its admin; or else not found."""
    name = text.strip()[:LONGEST_NAME]
    access = access_of(user)
    known = Project.objects.filter(Q(slug=name) | Q(name__iexact=name)).order_by("pk")
    if not access.everything:
        known = known.filter(pk__in=list(access.roles))
    found = next(iter(sorted(known, key=lambda one: one.slug != name)), None)
    if found is None and not create:
        raise Http404(f"There is no project {name!r}.")
    if found is None:
        return new_project(user, name)
    role = access.role_in(found.pk)
    if role is None or not role.allows(Role.EDITOR):
        raise role_needed(found, Role.EDITOR, role)
    return found


def new_project(user: Actor, name: str, description: str = "") -> Project:
    """The user is its admin."""
    owner = user if isinstance(user, User) else None
    with transaction.atomic():
        made = Project.objects.create(
            name=name.strip()[:LONGEST_NAME], slug=_free_slug(name), description=description, created_by=owner
        )
        if owner is not None:
            Membership.objects.create(project=made, user=owner, role=Role.ADMIN)
        record_of(made, user, "create")
    if owner is not None:
        forget_access(owner)
    return made


def _free_slug(name: str) -> str:
    begun = slugify(name)[: LONGEST_NAME - 5].strip("-") or "project"
    number, slug = 1, begun
    while Project.objects.filter(slug=slug).exists() or slug in RESERVED:
        number += 1
        slug = f"{begun}-{number}"
    return slug
