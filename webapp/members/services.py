"""Changes to projects and their members. The last admin of a project stays; each change has an audit entry."""

from __future__ import annotations

import secrets
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.contrib.auth.models import User
from django.core.mail import send_mail
from django.db import transaction
from django.db.models import ProtectedError
from django.utils import timezone

from webapp.accounts.services import digest
from webapp.audit.services import record_of
from webapp.members.choices import new_project
from webapp.projects.access import forget_access
from webapp.projects.models import LONGEST_NAME, Invitation, Membership, Project, Role
from webapp.updates import publish_user

BYTES = 24  # of randomness: 192 bits, so that one round of SHA-256 protects it
SHOWN = 6  # characters of a secret in lists
MOST_OPEN = 50  # invitations of a project
LIFETIMES = ((1, "1 day"), (7, "7 days"), (30, "30 days"))
LONGEST_DESCRIPTION = 2000


class Refused(Exception):
    """Why nothing was changed, in a sentence that says what to do."""


def create(user: User, name: str, description: str = "") -> Project:
    return new_project(user, _checked(name), description.strip()[:LONGEST_DESCRIPTION])


def change(project: Project, user: User, *, name: str, description: str) -> None:
    """The slug stays, so that addresses do."""
    new = {"name": _checked(name), "description": description.strip()[:LONGEST_DESCRIPTION]}
    changes = {field: {"old": getattr(project, field), "new": value} for field, value in new.items()}
    changes = {field: one for field, one in changes.items() if one["old"] != one["new"]}
    if not changes:
        return
    with transaction.atomic():
        Project.objects.filter(pk=project.pk).update(**new)
        project.refresh_from_db()
        record_of(project, user, "edit", changes=changes)
        for run in project.runs.iterator():  # the list of runs searches the name of the project
            run.list_again()


def delete(project: Project, user: User) -> None:
    """Of a project to which nothing belongs."""
    if project.is_default:
        raise Refused(
            "The first project of an installation cannot be deleted: what names no other project belongs to it."
        )
    try:
        with transaction.atomic():
            project.delete()
            record_of(user, user, "delete_project", project=project.name)  # the project's own log has no page any more
    except ProtectedError as error:
        kinds = sorted({str(one._meta.verbose_name_plural) for one in error.protected_objects})
        raise Refused(
            f"The project has {', '.join(kinds)}. Move its runs to another project, and delete the rest first."
        ) from None
    forget_access(user)


def set_role(project: Project, user: User, member: User, role: Role) -> None:
    with transaction.atomic():
        row = _locked(project, member)
        if row.role == role:
            return
        if row.role == Role.ADMIN:
            _check_another_admin(project, member)
        changes = {"role": {"old": row.role, "new": role.value}}
        row.role = role
        row.save(update_fields=["role"])
        record_of(project, user, "role", changes=changes, member=member.get_username())
        transaction.on_commit(lambda: publish_user(member.pk))
    forget_access(user)


def remove(project: Project, user: User, member: User) -> None:
    """Also the user itself, who leaves."""
    with transaction.atomic():
        row = _locked(project, member)
        if row.role == Role.ADMIN:
            _check_another_admin(project, member)
        row.delete()
        left = member.pk == user.pk
        record_of(project, user, "leave" if left else "remove_member", member=member.get_username())
        transaction.on_commit(lambda: publish_user(member.pk))  # open pages are closed
    forget_access(user)


def invite(project: Project, user: User, role: Role, *, days: int, email: str = "") -> str:
    """The secret of the link, this once."""
    waiting = project.invitations.filter(used_at=None, revoked_at=None, expires_at__gt=timezone.now())
    if waiting.count() >= MOST_OPEN:
        raise Refused(f"There are {MOST_OPEN} open invitations, which is the limit. Revoke one first.")
    secret = secrets.token_urlsafe(BYTES)
    with transaction.atomic():
        project.invitations.create(
            role=role,
            email=email,
            digest=digest(secret),
            shown_as=secret[:SHOWN],
            created_by=user,
            expires_at=timezone.now() + timedelta(days=days),
        )
        mailed: dict[str, Any] = {"mailed_to": email} if email else {}
        record_of(project, user, "invite", role=role.value, **mailed)
    return secret


def can_mail() -> bool:
    return bool(settings.EMAIL_HOST)


def mail_invitation(project: Project, user: User, role: Role, *, to: str, address: str) -> bool:
    """False if the mail server did not take it."""
    text = (
        f"{user.get_username()} invites you to the project {project.name} on Starboard, as {role.label.lower()}.\n\n"
        f"{address}\n\nThe link works once. Sign in, or ask for an account, to follow it."
    )
    try:
        return bool(send_mail(f"Invitation to {project.name}", text, None, [to]))
    except OSError:
        return False


def revoke(project: Project, user: User, pk: int) -> bool:
    with transaction.atomic():
        found = project.invitations.filter(pk=pk, used_at=None, revoked_at=None)
        done = bool(found.update(revoked_at=timezone.now()))
        if done:
            record_of(project, user, "revoke_invitation")
    return done


def invitation_of(secret: str) -> Invitation | None:
    return Invitation.objects.select_related("project", "created_by").filter(digest=digest(secret)).first()


def why_closed(invitation: Invitation) -> str:
    """Empty for one that can be followed."""
    if invitation.used_at is not None:
        return "This invitation has already been used."
    if invitation.revoked_at is not None:
        return "This invitation was revoked."
    return "" if invitation.is_open else "This invitation has expired."


def join(invitation: Invitation, user: User) -> Membership:
    """Uses up the invitation; of two concurrent calls only one succeeds. A member keeps a higher role."""
    with transaction.atomic():
        now = timezone.now()
        unused = Invitation.objects.filter(pk=invitation.pk, used_at=None, revoked_at=None, expires_at__gt=now)
        if not unused.update(used_at=now, used_by=user):
            invitation.refresh_from_db()
            raise Refused(why_closed(invitation))
        role = Role(invitation.role)
        row, made = Membership.objects.get_or_create(project=invitation.project, user=user, defaults={"role": role})
        if not made and not Role(row.role).allows(role):
            row.role = role
            row.save(update_fields=["role"])
        record_of(invitation.project, user, "join", role=role.value)
    forget_access(user)
    return row


def _checked(name: str) -> str:
    words = " ".join(name.split())
    if not words or "\0" in words:
        raise Refused("A project needs a name.")
    if len(words) > LONGEST_NAME:
        raise Refused(f"The name has {len(words)} characters; up to {LONGEST_NAME} are allowed.")
    return words


def _locked(project: Project, member: User) -> Membership:
    """All memberships of the project are locked, so that two admins cannot remove each other at once."""
    list(Membership.objects.select_for_update().filter(project=project).values_list("pk"))
    row = Membership.objects.filter(project=project, user=member).first()
    if row is None:
        raise Refused(f"{member.get_username()} is not a member of {project.name}.")
    return row


def _check_another_admin(project: Project, member: User) -> None:
    others = Membership.objects.filter(project=project, role=Role.ADMIN, user__is_active=True).exclude(user=member)
    if not others.exists():
        raise Refused(f"{member.get_username()} is the last admin of {project.name}. Make another member admin first.")
