"""Writing, changing, sharing and deleting reports."""

from __future__ import annotations

import secrets
from typing import Any

from django.db import transaction
from django.utils import timezone

from webapp.audit.services import record_of
from webapp.members.choices import project_for_new
from webapp.projects.access import require_of
from webapp.projects.models import Project, Role
from webapp.reports.models import LONGEST_TEXT, LONGEST_TITLE, Report

MOST_REPORTS = 500  # of one user
KEY_BYTES = 24


class Refused(Exception):
    """Why nothing was changed, in a sentence that says what to do."""


class Outdated(Refused):
    """Somebody else has changed the report since it was read."""


@transaction.atomic
def create(owner: Any, *, title: str, text: str, project: Project | None = None) -> Report:
    if Report.objects.filter(owner=owner).count() >= MOST_REPORTS:
        raise Refused(f"You have {MOST_REPORTS} reports, which is the limit. Delete one first.")
    title, text = _checked(title, text)
    made = Report.objects.create(owner=owner, title=title, text=text, project=project or project_for_new(owner))
    record_of(made, owner, "create")
    return made


@transaction.atomic
def change(report: Report, user: Any, *, title: str, text: str, version: int) -> Report:
    """`version` is that of the report as the user read it."""
    require_of(user, report, Role.EDITOR)
    title, text = _checked(title, text)
    same = Report.objects.filter(pk=report.pk, version=version)
    changed = same.update(title=title, text=text, version=version + 1, updated_at=timezone.now())
    report.refresh_from_db()
    if changed:
        record_of(report, user, "edit", version=report.version)
    else:
        raise Outdated(
            f"This report was changed meanwhile, and is at version {report.version}, not {version}. Copy your text, "
            "open the report again, and merge the two."
        )
    return report


@transaction.atomic
def share(report: Report, user: Any) -> str:
    """The key of its link; a report that is shared keeps its link."""
    _check_owner(report, user)
    if report.share_key is None:
        report.share_key = secrets.token_urlsafe(KEY_BYTES)
        report.save(update_fields=["share_key"])
        record_of(report, user, "share")
    return report.share_key


@transaction.atomic
def revoke(report: Report, user: Any) -> None:
    """The link ends at once, and a new one will be another."""
    _check_owner(report, user)
    report.share_key = None
    report.save(update_fields=["share_key"])
    record_of(report, user, "unshare")


@transaction.atomic
def delete(report: Report, user: Any) -> None:
    _check_owner(report, user)
    record_of(report, user, "remove")
    report.delete()


def _check_owner(report: Report, user: Any) -> None:
    """Its owner, as long as that is an editor, and admins."""
    require_of(user, report, Role.EDITOR if report.is_of(user) else Role.ADMIN)


def _checked(title: str, text: str) -> tuple[str, str]:
    title, text = " ".join(title.replace("\0", "").split()), text.replace("\r\n", "\n").replace("\0", "")
    if not title:
        raise Refused("A report needs a title.")
    if len(title) > LONGEST_TITLE:
        raise Refused(f"The title has {len(title)} characters; up to {LONGEST_TITLE} are allowed.")
    if len(text) > LONGEST_TEXT:
        raise Refused(f"The text has {len(text):,} characters; up to {LONGEST_TEXT:,} are allowed.")
    return title, text
