"""`manage.py import_rollouts FILE … --name NAME`: a run made of rollouts that RAGEN, verl or the like wrote."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from engine.foreign.run_directory import Source
from webapp.launching.importing import import_run
from workers.rebuilding import rebuild


class Command(BaseCommand):
    help = "Makes a run of rollouts in JSON lines, as RAGEN and verl write them, so that they can be read here."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("path", nargs="+", type=Path, help="files of JSON lines, or folders with *.jsonl in them")
        parser.add_argument("--name", default="", help="of the run; a memorable one is made up")
        parser.add_argument("--split", choices=["train", "validation"], help="for rollouts that do not say theirs")

    def handle(self, *args: Any, **options: Any) -> None:
        files = [file for path in options["path"] for file in _files(path)]
        with ExitStack() as open_files:
            sources = [Source(name=file.name, lines=open_files.enter_context(file.open("rb"))) for file in files]
            origin = ", ".join(file.name for file in files)
            run, report = import_run(sources, origin=origin, name=options["name"], split=options["split"])
        for name, number, reason in report.errors:
            self.stderr.write(f"{name} line {number}: {reason}")
        if run is None:
            raise CommandError("No line holds a rollout, so there is no run.")
        rebuild(run.pk)
        self.stdout.write(f"{run.name}: {report.in_words()} See /runs/{run.pk}/")


def _files(path: Path) -> list[Path]:
    if not path.exists():
        raise CommandError(f"There is no file {path}.")
    return sorted(path.glob("*.jsonl")) if path.is_dir() else [path]
