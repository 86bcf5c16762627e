"""The identities that are connected to an account, and those that can be."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from allauth.socialaccount.models import SocialAccount
from django.conf import settings
from django.contrib.auth.models import User
from django.db import transaction

from webapp.audit.services import record_of
from webapp.identity_providers.configuration import IdentityProvider


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    pk: int
    provider: str  # its name
    address: str  # as the provider gave it
    since: datetime


def identities_of(user: User) -> list[Identity]:
    return [
        Identity(
            pk=one.pk,
            provider=name_of(one.provider),
            address=str((one.extra_data or {}).get("email") or ""),
            since=one.date_joined,
        )
        for one in SocialAccount.objects.filter(user=user).order_by("date_joined")
    ]


def connectable(user: User) -> list[IdentityProvider]:
    """Providers of which the user has no identity yet. Only a password confirms such a change."""
    if not user.has_usable_password():
        return []
    connected = set(SocialAccount.objects.filter(user=user).values_list("provider", flat=True))
    return [one for key, one in settings.STARBOARD_IDENTITY_PROVIDERS.items() if key not in connected]


def disconnect(user: User, pk: int) -> bool:
    """Of a user who has a password, and so another way to sign in."""
    with transaction.atomic():
        found = SocialAccount.objects.filter(user=user, pk=pk).first()
        if found is None:
            return False
        record_of(user, user, "disconnect_identity", provider=name_of(found.provider))
        found.delete()
    return True


def name_of(key: str) -> str:
    """As the button has it; of a provider that is no longer configured, its key."""
    configured = settings.STARBOARD_IDENTITY_PROVIDERS.get(key)
    return configured.name if configured else key
