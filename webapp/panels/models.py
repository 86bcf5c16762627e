"""Layouts of charts that users keep: which metrics, in which order, which over one another."""

from __future__ import annotations

from django.conf import settings
from django.db import models


class PanelLayout(models.Model):
    """`charts` is a list of lists of metrics: one chart each, its metrics over one another. `log` says of each whether
    its axis is logarithmic, None where that is as its metrics have it; charts at its end that it lacks have None.

    Every user may look through it, by its address; only its owner changes it.
    """

    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="panel_layouts")
    name = models.CharField(max_length=80)
    charts = models.JSONField()
    log = models.JSONField(default=list)
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        ordering = ["name", "pk"]

    def __str__(self) -> str:
        return self.name
