"""`manage.py rebuild_run <id> …`: the rows of runs anew from their `events.jsonl`."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from webapp.runs.models import Run
from workers.rebuilding import rebuild, removed_trajectories


class Command(BaseCommand):
    help = (
        "Rebuilds the rows of runs (events, steps, trajectories, evaluations, checkpoints, alerts) from their files. "
        "Of trajectories that a run's retention removed no file is left: their rows stay where there are any."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("run", nargs="+", help="ids of runs, as in /runs/<id>/")

    def handle(self, *args: Any, **options: Any) -> None:
        for run_id in options["run"]:
            try:
                run = rebuild(run_id)
            except Run.DoesNotExist:
                raise CommandError(f"There is no run {run_id!r}. Give the id in its page's address.") from None
            self.stdout.write(f"{run.name}: {run.last_seq} events, step {run.step} of {run.total_steps}")
            self._tell_removed(run)

    def _tell_removed(self, run: Run) -> None:
        removed = removed_trajectories(run)
        if removed.kept:
            self.stdout.write(f"  {removed.kept} trajectories that its retention removed: their rows stayed")
        if removed.gone:
            self.stdout.write(
                f"  {removed.gone} trajectories that its retention removed have no rows: their shards are gone, and "
                "events tell only how many there were"
            )
