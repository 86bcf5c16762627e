"""`manage.py backup FILE`: the database and the files of runs and evaluations, while everything goes on."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from workers.backup import BackupError, back_up


class Command(BaseCommand):
    help = (
        "Writes a tar archive with the database as of now and the files of runs and evaluations. The site and its "
        "engines may go on. The archive contains the site's secret key: keep it private. `manage.py restore` reads it."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", type=Path, help="the archive to write")
        parser.add_argument(
            "--without-checkpoints", action="store_true", help="smaller; restored runs can be read but not resumed"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            size = back_up(options["file"], checkpoints=not options["without_checkpoints"])
        except (BackupError, OSError) as error:
            raise CommandError(str(error)) from None
        self.stdout.write(f"{options['file']}: {size / 1e6:,.1f} MB")
