"""`manage.py rebuild_run <id> …`: the rows of runs anew from their `events.jsonl`."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from webapp.runs.models import Run
from workers.bridge import rebuild


class Command(BaseCommand):
    help = "Rebuilds the rows of runs (events, steps, trajectories, evaluations, checkpoints, alerts) from their files."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("run", nargs="+", help="ids of runs, as in /runs/<id>/")

    def handle(self, *args: Any, **options: Any) -> None:
        for run_id in options["run"]:
            try:
                run = rebuild(run_id)
            except Run.DoesNotExist:
                raise CommandError(f"There is no run {run_id!r}. Give the id in its page's address.") from None
            self.stdout.write(f"{run.name}: {run.last_seq} events, step {run.step} of {run.total_steps}")
