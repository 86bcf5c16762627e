"""Personal tokens of the API: made once, stored as a hash, refused when expired, revoked or of a disabled account.

A token is `sb_`, 30 characters of base 62 (178 random bits, so that one round of SHA-256 protects it), and a checksum
of 6, by which a mistyped token is recognised, and scanners of repositories find a lost one.
"""

from __future__ import annotations

import secrets
import string
import zlib
from collections.abc import Collection
from dataclasses import dataclass
from datetime import timedelta

from django.contrib.auth.models import User
from django.db.models import Q
from django.utils import timezone

from webapp.accounts.models import PersonalToken, Scope
from webapp.accounts.services import digest

PREFIX = "sb_"
ALPHABET = string.digits + string.ascii_letters
RANDOM, CHECKSUM = 30, 6
LENGTH = len(PREFIX) + RANDOM + CHECKSUM
SHOWN = 8  # characters of a token in lists: the prefix and five more
MOST_TOKENS = 50  # of a user, without those that no longer work
USE_RECORDED_EVERY = timedelta(minutes=1)

NEW_ONE = "Create a token on the page API tokens, and send it as `Authorization: Bearer sb_…`."


@dataclass(frozen=True, slots=True, kw_only=True)
class Refused:
    """Never has the token itself."""

    error: str
    remedy: str = NEW_ONE


def new_token(user: User, *, name: str, scopes: Collection[Scope], lifetime: timedelta) -> str:
    """The only time that the token itself exists here."""
    body = "".join(secrets.choice(ALPHABET) for _ in range(RANDOM))
    token = PREFIX + body + checksum(body)
    PersonalToken.objects.create(
        user=user,
        name=name,
        scopes=[scope.value for scope in Scope if scope in scopes],
        digest=digest(token),
        shown_as=token[:SHOWN],
        expires_at=timezone.now() + lifetime,
    )
    return token


def working_tokens(user: User) -> int:
    return PersonalToken.objects.filter(user=user, revoked_at=None, expires_at__gt=timezone.now()).count()


def revoke(user: User, pk: int) -> bool:
    """True if the token was the user's and was not revoked yet."""
    return bool(PersonalToken.objects.filter(user=user, pk=pk, revoked_at=None).update(revoked_at=timezone.now()))


def revoke_all(user: User) -> int:
    """The number of tokens that worked until now."""
    return PersonalToken.objects.filter(user=user, revoked_at=None).update(revoked_at=timezone.now())


def check_token(text: str) -> PersonalToken | Refused:
    """The token that a request has sent, whose use is recorded."""
    body = text[len(PREFIX) : -CHECKSUM]
    if not text.startswith(PREFIX) or len(text) != LENGTH or text[-CHECKSUM:] != checksum(body):
        return Refused(error="The Authorization header contains no Starboard token: it is mistyped or cut off")
    found = PersonalToken.objects.select_related("user").filter(digest=digest(text)).first()
    if found is None or not found.user.is_active:
        return Refused(error="The token is unknown")
    if found.revoked_at is not None:
        return Refused(error=f"The token {found.name!r} was revoked on {found.revoked_at:%Y-%m-%d}")
    if found.expired:
        return Refused(error=f"The token {found.name!r} expired on {found.expires_at:%Y-%m-%d}")
    _record_use(found)
    return found


def checksum(body: str) -> str:
    """CRC-32 in base 62, as GitHub's tokens have it."""
    value, digits = zlib.crc32(body.encode()), ""
    while len(digits) < CHECKSUM:
        value, digit = divmod(value, len(ALPHABET))
        digits = ALPHABET[digit] + digits
    return digits


def _record_use(token: PersonalToken) -> None:
    """At most once a minute, so that reading does not write each time: on SQLite even an update of no row waits for
    whoever writes."""
    now = timezone.now()
    if token.last_used_at is not None and token.last_used_at >= now - USE_RECORDED_EVERY:
        return
    old = Q(last_used_at=None) | Q(last_used_at__lt=now - USE_RECORDED_EVERY)
    PersonalToken.objects.filter(old, pk=token.pk).update(last_used_at=now)
