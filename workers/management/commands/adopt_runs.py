"""`manage.py adopt_runs`: run directories without a row become runs, after the database was lost."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand

from workers.adopting import adopt_all


class Command(BaseCommand):
    help = (
        "Adopts run directories that the database has no runs for: names, tags and owners by their about.json, rows by "
        "their events.jsonl. Create the users first, so that runs have their owners again. Runs that are in the "
        "database stay as they are."
    )

    def handle(self, *args: Any, **options: Any) -> None:
        adopted = 0
        for found in adopt_all(Path(settings.RUNS_DIR)):
            if found.run is None:
                self.stderr.write(f"{found.directory.name}: not adopted, since {found.refused}")
                continue
            adopted += 1
            run = found.run
            self.stdout.write(f"{run.pk}: {run.name}, step {run.step} of {run.total_steps}, {run.get_state_display()}")
        self.stdout.write(f"{adopted} runs adopted.")
