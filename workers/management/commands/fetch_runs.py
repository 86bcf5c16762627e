"""`manage.py fetch_runs RUN …`: brings files that were freed back from the bucket, compared with their hashes."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from webapp.runs.models import Run
from workers.bucket import the_bucket
from workers.copies import fetch


class Command(BaseCommand):
    help = "Brings the files of runs back from the bucket of STARBOARD_ARCHIVE_URL; files that are here are kept."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("run", nargs="+", help="IDs")

    def handle(self, *args: Any, **options: Any) -> None:
        bucket = the_bucket()
        if bucket is None:
            raise CommandError("There is no bucket. Set STARBOARD_ARCHIVE_URL=s3://BUCKET/PREFIX.")
        for key in options["run"]:
            run = Run.objects.filter(pk=key).first()
            if run is None:
                raise CommandError(f"There is no run {key}.")
            try:
                count = fetch(run, bucket)
            except Exception as error:  # whatever a bucket answers
                raise CommandError(f"{run.name}: {error}") from None
            self.stdout.write(f"{run.name}: {count} files fetched")
