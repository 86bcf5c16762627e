"""`manage.py copy_runs [RUN …]`: copies runs that are over to the bucket of STARBOARD_ARCHIVE_URL."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from webapp.runs.models import Run
from webapp.runs.states import TERMINAL
from workers.bucket import the_bucket
from workers.copies import free, store


class Command(BaseCommand):
    help = "Copies runs that are over to the bucket of STARBOARD_ARCHIVE_URL; unchanged files are not copied again."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("run", nargs="*", help="IDs; by default all runs that are over")
        parser.add_argument(
            "--free", action="store_true", help="then remove their trajectories and checkpoints from this disk"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        bucket = the_bucket()
        if bucket is None:
            raise CommandError("There is no bucket. Set STARBOARD_ARCHIVE_URL=s3://BUCKET/PREFIX.")
        chosen = Run.objects.filter(pk__in=options["run"]) if options["run"] else Run.objects.filter(state__in=TERMINAL)
        if unknown := set(options["run"]) - set(chosen.values_list("pk", flat=True)):
            raise CommandError(f"There is no run {min(unknown)}.")
        failed = 0
        for run in chosen.order_by("created_at"):
            try:
                copy = store(run, bucket)
                freed = free(run, bucket) if options["free"] else 0
            except Exception as error:  # whatever a bucket answers: the other runs do not depend on it
                failed += 1
                self.stderr.write(f"{run.name}: {error}")
            else:
                self.stdout.write(f"{run.name}: {copy.files} files at {copy.url}, {freed / 1e6:,.1f} MB freed")
        if failed:
            raise CommandError(f"{failed} runs were not copied.")
