"""Presets that users save for themselves."""

from __future__ import annotations

from django.conf import settings
from django.db import models

from webapp.environments.models import EnvironmentVersion


class SavedPreset(models.Model):
    """A whole configuration of a run under a name; saving another under the same name replaces it."""

    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="presets")
    name = models.CharField(max_length=60)
    config = models.JSONField()
    environment_version = models.ForeignKey(EnvironmentVersion, null=True, on_delete=models.SET_NULL)
    saved_at = models.DateTimeField(auto_now=True)

    class Meta:
        ordering = ["name"]
        constraints = [models.UniqueConstraint(fields=["owner", "name"], name="one_preset_per_name")]

    def __str__(self) -> str:
        return self.name
