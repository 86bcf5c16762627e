"""Sign-in links, stored as a hash and valid for one use within ten minutes, and failed sign-ins."""

from __future__ import annotations

from django.conf import settings
from django.db import models


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
