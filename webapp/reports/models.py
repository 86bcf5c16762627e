"""Reports: Markdown with charts, tables and trajectories of runs in it."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.db import models

from webapp.projects.models import Project, default_project_id

LONGEST_TITLE = 120
LONGEST_TEXT = 100_000  # characters
KEY_LENGTH = 32  # of a shared link, 24 random bytes


class Report(models.Model):
    """Members of its project read it and its editors change it; its owner and admins share and delete it. Anyone with
    `share_key` can read it without an account, until it is revoked. Only `webapp.reports.services` changes one."""

    title = models.CharField(max_length=LONGEST_TITLE)
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="reports")
    project = models.ForeignKey(Project, default=default_project_id, on_delete=models.PROTECT, related_name="reports")
    text = models.TextField(blank=True, default="")
    version = models.PositiveIntegerField(default=1)  # counts changes, so that two editors do not overwrite each other
    share_key = models.CharField(max_length=KEY_LENGTH, null=True, unique=True)
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        ordering = ["-updated_at", "-pk"]

    def __str__(self) -> str:
        return self.title

    def is_of(self, user: Any) -> bool:
        return self.owner_id is not None and self.owner_id == user.pk
