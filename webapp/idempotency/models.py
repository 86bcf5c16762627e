"""Requests with an `Idempotency-Key` or the token of a form, and what was answered: a repetition changes nothing."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.utils import timezone

LONGEST_KEY = 200


class IdempotentRequest(models.Model):
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE)
    endpoint = models.CharField(max_length=60)
    key = models.CharField(max_length=LONGEST_KEY)
    digest = models.CharField(max_length=64)  # of the body
    status = models.PositiveSmallIntegerField(default=0)
    answer = models.JSONField(default=dict)
    created_at = models.DateTimeField(default=timezone.now, db_index=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["user", "endpoint", "key"], name="one_request_per_key")]

    def __str__(self) -> str:
        return f"{self.endpoint} {self.key}"
