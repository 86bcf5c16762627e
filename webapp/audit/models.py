"""Who requested what of which run, or of what else belongs to a project, and when. Rows are added and never changed."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.db import models
from django.utils import timezone

DONE, REFUSED = "done", "refused"


class AppendOnly(models.QuerySet["AuditEntry"]):
    def update(self, **_: Any) -> int:
        raise TypeError("Audit entries cannot be changed. Add another.")

    def delete(self) -> tuple[int, dict[str, int]]:
        raise TypeError("Audit entries cannot be deleted.")


class AuditEntry(models.Model):
    """`who` is the user's name at the time, which remains when the account is deleted; `detail` is the
    request as JSON. An entry that is not of a run says in `kind` and `object_id` what it is of, and in `object_name`
    how that was called. Entries of a run are deleted with it, those of a project are not."""

    run = models.ForeignKey("runs.Run", null=True, on_delete=models.CASCADE, related_name="audit")
    project = models.ForeignKey("projects.Project", null=True, on_delete=models.SET_NULL, related_name="audit")
    kind = models.CharField(max_length=20, blank=True, default="")
    object_id = models.CharField(max_length=20, blank=True, default="")
    object_name = models.CharField(max_length=150, blank=True, default="")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL)
    who = models.CharField(max_length=150)
    token = models.CharField(max_length=60, blank=True, default="")  # name of the personal token that was used
    action = models.CharField(max_length=30)
    detail = models.JSONField(default=dict)
    outcome = models.CharField(max_length=7, choices=[(DONE, DONE), (REFUSED, REFUSED)], default=DONE)
    time = models.DateTimeField(default=timezone.now)

    objects = AppendOnly.as_manager()

    class Meta:
        ordering = ["-time", "-pk"]
        indexes = [
            models.Index(fields=["run", "-time"]),
            models.Index(fields=["kind", "object_id", "-time"]),
            models.Index(fields=["project", "-time"]),
        ]

    def __str__(self) -> str:
        return f"{self.who}: {self.action} ({self.outcome})"

    def save(self, *args: Any, **kwargs: Any) -> None:
        if self.pk is not None:
            raise TypeError("Audit entries cannot be changed. Add another.")
        super().save(*args, **kwargs)

    def delete(self, *_: Any, **__: Any) -> tuple[int, dict[str, int]]:
        raise TypeError("Audit entries cannot be deleted.")
