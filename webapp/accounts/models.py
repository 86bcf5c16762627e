"""Sign-in links: a random token, kept as a hash, good for one use within ten minutes."""

from __future__ import annotations

from django.conf import settings
from django.db import models


class SignInToken(models.Model):
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE)
    digest = models.CharField(max_length=64, unique=True)
    created_at = models.DateTimeField(auto_now_add=True)
    used_at = models.DateTimeField(null=True, blank=True)
