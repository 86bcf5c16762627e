"""Sign-in links, valid once, and the local user that they sign in."""

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
KEPT = timedelta(days=1)  # used and expired tokens are kept, so that the page can say why a link is refused
LOCAL_USER = "local"


class Refused(StrEnum):
    UNKNOWN = "This sign-in link is not valid"
    USED = "This sign-in link has already been used"
    EXPIRED = "This sign-in link has expired"


def local_user() -> User:
    """The default user of a local installation, an administrator, created without a password."""
    user, made = User.objects.get_or_create(username=LOCAL_USER, defaults={"is_staff": True})
    if made:
        user.set_unusable_password()
        user.save(update_fields=["password"])
    return user


def new_link(user: User) -> str:
    """A URL that signs `user` in once. Only the hash of its token is stored."""
    SignInToken.objects.filter(created_at__lt=timezone.now() - KEPT).delete()
    token = secrets.token_urlsafe(32)
    SignInToken.objects.create(user=user, digest=digest(token))
    host = "[::1]" if settings.STARBOARD_BIND.strip("[]") == "::1" else "127.0.0.1"
    return f"http://{host}:{settings.PORT}{reverse('accounts:sign_in')}?token={token}"


def use_token(token: str) -> User | Refused:
    """Uses up a token and returns its user. Of two concurrent calls only one succeeds."""
    now = timezone.now()
    tokens = SignInToken.objects.filter(digest=digest(token))
    if tokens.filter(used_at=None, created_at__gt=now - LIFETIME, user__is_active=True).update(used_at=now):
        return tokens.select_related("user").get().user
    known = tokens.first()
    if known is None:
        return Refused.UNKNOWN
    return Refused.USED if known.used_at else Refused.EXPIRED


def digest(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()
