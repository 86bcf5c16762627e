"""The names of a run's metrics as rows, and those of the runs that are there already."""

from __future__ import annotations

from typing import Any

import django.db.models.deletion
from django.db import migrations, models

LONGEST = 300
BATCH = 500


def note_names(apps: Any, schema_editor: Any) -> None:
    """Once over all steps, run by run."""
    runs, steps, metric_names = (apps.get_model("runs", name) for name in ("Run", "StepMetrics", "MetricName"))
    for run in runs.objects.values_list("pk", flat=True):
        found: set[str] = set()
        for metrics in steps.objects.filter(run_id=run).values_list("metrics", flat=True).iterator():
            found.update(metrics)
        rows = [metric_names(run_id=run, name=name) for name in sorted(found) if len(name) <= LONGEST]
        metric_names.objects.bulk_create(rows, BATCH)


class Migration(migrations.Migration):
    dependencies = [("runs", "0005_imported_from")]

    operations = [
        migrations.CreateModel(
            name="MetricName",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("name", models.CharField(max_length=300)),
                (
                    "run",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="metric_names", to="runs.run"
                    ),
                ),
            ],
            options={
                "ordering": ["name"],
                "constraints": [models.UniqueConstraint(fields=("run", "name"), name="one_row_per_metric")],
            },
        ),
        migrations.RunPython(note_names, migrations.RunPython.noop),
    ]
