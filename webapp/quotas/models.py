"""What a user may use at most, where that differs from the default of the installation."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.utils import timezone


class UserQuota(models.Model):
    """None is the default of the installation."""

    user = models.OneToOneField(
        settings.AUTH_USER_MODEL, primary_key=True, on_delete=models.CASCADE, related_name="quota"
    )
    runs_at_once = models.PositiveIntegerField(null=True, blank=True)
    device_hours = models.PositiveIntegerField(null=True, blank=True)  # in 30 days
    disk_gib = models.PositiveIntegerField(null=True, blank=True)
    changed_by = models.CharField(max_length=150, default="")
    changed_at = models.DateTimeField(default=timezone.now)

    def __str__(self) -> str:
        return f"quota of {self.user}"
