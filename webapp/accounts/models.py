"""Sign-in links, personal tokens of the API, both stored as hashes, and failed sign-ins."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.utils import timezone


class SignInToken(models.Model):
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE)
    digest = models.CharField(max_length=64, unique=True)
    created_at = models.DateTimeField(auto_now_add=True)
    used_at = models.DateTimeField(null=True, blank=True)

    def __str__(self) -> str:
        return f"sign-in link of {self.user}, {'used' if self.used_at else 'unused'}"


class FailedSignIn(models.Model):
    """One failed sign-in. Stored in the database, so that limits survive restarts and are shared by several servers."""

    account = models.CharField(max_length=150)
    address = models.CharField(max_length=45, default="")
    at = models.DateTimeField(auto_now_add=True, db_index=True)

    class Meta:
        indexes = [models.Index(fields=["account", "at"])]

    def __str__(self) -> str:
        return f"failed sign-in to {self.account!r} at {self.at}"


class Scope(models.TextChoices):
    """What a personal token allows."""

    READ = "read", "Read runs, events, metrics and logs"
    LAUNCH = "launch", "Launch runs, control them, and change their settings and labels"
    INGEST = "ingest", "Create runs that are trained elsewhere, and send their metrics"


LONGEST_TOKEN_NAME = 60


class PersonalToken(models.Model):
    """A token of the API. `shown_as` is its beginning, by which its owner recognises it."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="tokens")
    name = models.CharField(max_length=LONGEST_TOKEN_NAME)
    scopes = models.JSONField(default=list)
    digest = models.CharField(max_length=64, unique=True)
    shown_as = models.CharField(max_length=12)
    created_at = models.DateTimeField(default=timezone.now)
    expires_at = models.DateTimeField()
    last_used_at = models.DateTimeField(null=True, blank=True)
    revoked_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["-created_at", "-pk"]

    def __str__(self) -> str:
        return f"{self.name} ({self.shown_as}…)"

    @property
    def expired(self) -> bool:
        return self.expires_at <= timezone.now()
