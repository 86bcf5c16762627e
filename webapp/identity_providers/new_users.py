"""Accounts of users who sign in through a provider for the first time. They have no password."""

from __future__ import annotations

import re

from django.contrib.auth.models import User

from webapp.accounts.services import LOCAL_USER
from webapp.audit.services import record_of
from webapp.projects.models import Membership, Role, default_project

LONGEST = 100
DEFAULT_NAME = "user"


def new_user(suggested: str, email: str, role: str) -> User:
    """In no project but, with a role, the default one. `suggested` is the provider's, and may be anything."""
    user = User(username=free_name(suggested), email=email)
    user.set_unusable_password()
    user.save()
    user.memberships.all().delete()  # also the first user of an installation has no role that nobody gave it
    if role:
        project = default_project()
        Membership.objects.create(project=project, user=user, role=Role(role))
        record_of(project, None, "add_member", member=user.username, role=role)
    return user


def free_name(suggested: str) -> str:
    """A username of the characters that are allowed, which no user has; not that of `make link` either."""
    base = re.sub(r"[^A-Za-z0-9@.+_-]", "", suggested.replace(" ", "."))[:LONGEST] or DEFAULT_NAME
    name, number = base, 1
    while name.lower() == LOCAL_USER or User.objects.filter(username__iexact=name).exists():
        number += 1
        name = f"{base}-{number}"
    return name
