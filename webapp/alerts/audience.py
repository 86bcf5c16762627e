"""Who is notified of something about a run, and over which channels."""

from __future__ import annotations

import secrets
from collections.abc import Iterable

from django.contrib.auth.models import User
from django.db.models import Q

from webapp.alerts.models import Delivery, NotificationSettings, Scope, Webhook
from webapp.projects.models import Membership
from webapp.runs.models import Run


def audience(run: Run) -> list[NotificationSettings]:
    return audience_of(run.owner_id, run.project_id)


def audience_of(owner: int | None, project: int | None) -> list[NotificationSettings]:
    """Of something of the project that this user owns, or nobody: of those who may read it."""
    everyone = NotificationSettings.objects.select_related("user").filter(user__is_active=True)
    administrators = Q(user__is_staff=True) | Q(user__is_superuser=True)
    members = Membership.objects.filter(project=project).values("user")
    everyone = everyone.filter(administrators | Q(user__in=members))
    return list(everyone.filter(Q(scope=Scope.ALL) | Q(user=owner)) if owner else everyone)


def channels_of(chosen: NotificationSettings, *, mail: bool = True) -> Iterable[tuple[str, str]]:
    """The channel and the address of each."""
    if mail and chosen.email_on and chosen.email:
        yield f"email:{chosen.user_id}", chosen.email
    for webhook in Webhook.objects.filter(user=chosen.user, on=True):
        yield f"webhook:{webhook.pk}", webhook.url


def new_delivery(user: User, channel: str, target: str, **about: object) -> Delivery:
    """A row, not yet saved."""
    return Delivery(user=user, channel=channel, target=target, message_id=f"msg_{secrets.token_hex(12)}", **about)
