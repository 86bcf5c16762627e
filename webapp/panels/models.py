"""Chart layouts saved by users: which metrics, in which order, which of them in the same chart."""

from __future__ import annotations

from django.conf import settings
from django.db import models


class PanelLayout(models.Model):
    """`charts` has a list of metrics per chart. `log` has an entry per chart: whether its axis is logarithmic, or None
    for the default of its metrics; missing entries are None.

    Whoever shares a project with its owner can view a layout by its URL; only its owner can change it.
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
