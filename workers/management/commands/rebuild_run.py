"""`manage.py rebuild_run <id> …`: rebuilds the database rows of runs from their `events.jsonl`."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from engine.errors import RunDirectoryError
from webapp.runs.models import Run
from workers.rebuilding import rebuild, removed_trajectories


class Command(BaseCommand):
    help = (
        "Rebuilds the rows of runs (events, steps, trajectories, evaluations, checkpoints, alerts) from their files. "
        "Existing rows of trajectories whose files were removed by the run's retention are kept. Each run is one "
        "transaction: until it is over, pages show the rows as they were, and with SQLite nobody else can write."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("run", nargs="+", help="ids of runs, as in /runs/<id>/")

    def handle(self, *args: Any, **options: Any) -> None:
        for run_id in options["run"]:
            try:
                run = rebuild(run_id)
            except Run.DoesNotExist:
                raise CommandError(f"Run {run_id!r} does not exist. Use the ID in the URL of its page.") from None
            except RunDirectoryError as error:
                raise CommandError(str(error)) from None
            self.stdout.write(f"{run.name}: {run.last_seq} events, step {run.step} of {run.total_steps}")
            self._report_removed(run)

    def _report_removed(self, run: Run) -> None:
        removed = removed_trajectories(run)
        if removed.kept:
            self.stdout.write(f"  {removed.kept} trajectories removed by retention: rows kept")
        if removed.gone:
            self.stdout.write(
                f"  {removed.gone} trajectories that its retention removed have no rows: their files are gone, and "
                "events tell only how many there were"
            )
