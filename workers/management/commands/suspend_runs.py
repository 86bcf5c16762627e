"""`manage.py suspend_runs`: stops the engines on this machine; the next worker queues their runs again."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from workers.suspension import suspend_runs


class Command(BaseCommand):
    requires_system_checks = ()  # they would import every page first
    help = "Stops every engine on this machine after a checkpoint, before a shutdown. Stop the workers first."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--seconds", type=float, default=15.0, help="time for writing checkpoints before SIGKILL")

    def handle(self, *args: Any, **options: Any) -> None:
        count = suspend_runs(options["seconds"])
        self.stdout.write(f"{count} engine{'' if count == 1 else 's'} stopped; their runs resume with the next worker.")
