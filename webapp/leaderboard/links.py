"""Public links: a secret address that shows one leaderboard to anyone, and nothing else, until it is revoked."""

from __future__ import annotations

import secrets

from django.contrib.auth.models import User
from django.db import transaction
from django.utils import timezone

from webapp.accounts.services import digest
from webapp.audit.services import record_of
from webapp.leaderboard.models import PublicLink
from webapp.suites.models import Suite

BYTES = 24  # of randomness: 192 bits, so that one round of SHA-256 protects it
SHOWN = 6  # characters of a secret in lists
MOST = 100  # working links of a user


def new_link(user: User, suite: Suite, query: str) -> str:
    """The secret, this once."""
    secret = secrets.token_urlsafe(BYTES)
    with transaction.atomic():
        PublicLink.objects.create(owner=user, suite=suite, query=query, digest=digest(secret), shown_as=secret[:SHOWN])
        record_of(user, user, "link_leaderboard", suite=suite.name)
    return secret


def working_links(user: User) -> int:
    return PublicLink.objects.filter(owner=user, revoked_at=None).count()


def revoke(user: User, pk: int) -> bool:
    """True if the link was the user's, or anyone's for a superuser, and was not revoked yet."""
    links = PublicLink.objects.filter(pk=pk, revoked_at=None)
    if not user.is_superuser:
        links = links.filter(owner=user)
    with transaction.atomic():
        link = links.select_for_update(of=("self",)).select_related("suite", "owner").first()
        if link is None:
            return False
        link.revoked_at = timezone.now()
        link.save(update_fields=["revoked_at"])
        return record_of(link.owner, user, "unlink_leaderboard", suite=link.suite.name)


def link_of(secret: str) -> PublicLink | None:
    """The link of a secret; None if there is none, or it was revoked."""
    return PublicLink.objects.select_related("suite").filter(digest=digest(secret), revoked_at=None).first()
