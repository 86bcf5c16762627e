"""Which axes of a layout are logarithmic."""

from __future__ import annotations

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("panels", "0001_panel_layouts")]

    operations = [migrations.AddField("panellayout", "log", models.JSONField(default=list))]
