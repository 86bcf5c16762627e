"""`manage.py suspend_runs`: ends the engines of this machine in good order; the next worker queues their runs again."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from workers.suspension import suspend_runs


class Command(BaseCommand):
    help = "Ends every engine of this machine with a checkpoint, for a shutdown. Stop the workers first."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--seconds", type=float, default=15.0, help="time to write checkpoints before SIGKILL")

    def handle(self, *args: Any, **options: Any) -> None:
        count = suspend_runs(options["seconds"])
        self.stdout.write(f"{count} engine{'' if count == 1 else 's'} ended; their runs go on with the next worker.")
