"""Sign-in links: made, used once, and explained when they no longer work. Also the local user they sign in."""

from __future__ import annotations

import hashlib
import secrets
from datetime import timedelta
from enum import StrEnum

from django.conf import settings
from django.contrib.auth.models import User
from django.urls import reverse
from django.utils import timezone

from webapp.accounts.models import SignInToken

LIFETIME = timedelta(minutes=10)
KEPT = timedelta(days=1)  # used and expired tokens stay so long, so that a second use can be told from a wrong link
LOCAL_USER = "local"


class Refused(StrEnum):
    UNKNOWN = "This sign-in link is not one of ours"
    USED = "This sign-in link was used already"
    EXPIRED = "This sign-in link is older than ten minutes"


def local_user() -> User:
    """The one user of an installation on one machine. It has no password until someone sets one."""
    user, made = User.objects.get_or_create(username=LOCAL_USER)
    if made:
        user.set_unusable_password()
        user.save(update_fields=["password"])
    return user


def new_link(user: User) -> str:
    """A whole address that signs `user` in once. Only the hash of its token is kept."""
    SignInToken.objects.filter(created_at__lt=timezone.now() - KEPT).delete()
    token = secrets.token_urlsafe(32)
    SignInToken.objects.create(user=user, digest=digest(token))
    return f"http://127.0.0.1:{settings.PORT}{reverse('accounts:sign_in')}?token={token}"


def use_token(token: str) -> User | Refused:
    """The user of a fresh token, which is spent by this call: of two calls at once only one gets the user."""
    now = timezone.now()
    tokens = SignInToken.objects.filter(digest=digest(token))
    if tokens.filter(used_at=None, created_at__gt=now - LIFETIME, user__is_active=True).update(used_at=now):
        return tokens.select_related("user").get().user
    kept = tokens.first()
    if kept is None:
        return Refused.UNKNOWN
    return Refused.USED if kept.used_at else Refused.EXPIRED


def digest(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()
