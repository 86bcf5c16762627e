"""`manage.py restore FILE`: a backup into an empty installation."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from workers.backup import BackupError
from workers.restoring import restore


class Command(BaseCommand):
    help = (
        "Restores an archive of `manage.py backup` into a data directory and a database that are empty. Runs that were "
        "running or queued are stopped, and can be resumed from their newest checkpoints. Sweeps are stopped too. Jobs "
        "that were running have ended, or wait for a worker if they can be continued."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", type=Path, help="the archive")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            found = restore(options["file"])
        except (BackupError, OSError) as error:
            raise CommandError(str(error)) from None
        self.stdout.write(
            f"{found.runs} runs as of {found.time:%Y-%m-%d %H:%M} UTC; {found.stopped} were stopped, and "
            f"{found.interrupted} jobs were interrupted."
        )
