"""`manage.py assess_runs [<id> …]`: recomputes the verdicts of runs by the rules of this version."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from engine.verdict.thresholds import RULES_VERSION
from webapp.runs.models import Run
from webapp.runs.verdicts import OUTDATED, reassess


class Command(BaseCommand):
    help = (
        f"Computes the verdicts of runs again from their rows, by rules {RULES_VERSION}. Without ids: of all runs that "
        "were assessed by other rules, or never."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("run", nargs="*", help="ids of runs, as in /runs/<id>/")

    def handle(self, *args: Any, **options: Any) -> None:
        ids = options["run"]
        runs = list(Run.objects.filter(pk__in=ids) if ids else Run.objects.filter(OUTDATED))
        if unknown := sorted(set(ids) - {run.pk for run in runs}):
            raise CommandError(f"There is no run {unknown[0]!r}. Give the id in its page's address.")
        for run in runs:
            verdict = reassess(run)
            self.stdout.write(f"{run.name}: {verdict.title if verdict else 'no step yet'}")
        self.stdout.write(f"{len(runs)} runs assessed by rules {RULES_VERSION}")
