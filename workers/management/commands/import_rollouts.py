"""`manage.py import_rollouts FILE … --name NAME`: imports rollouts written by RAGEN, verl and similar as a run."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from engine.foreign.run_directory import Source
from webapp.launching.importing import import_run
from workers.rebuilding import rebuild


class Command(BaseCommand):
    help = "Imports rollouts in JSON Lines, as written by RAGEN and verl, as a run."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("path", nargs="+", type=Path, help="JSON Lines files, or directories with *.jsonl files")
        parser.add_argument("--name", default="", help="name of the run; generated if left out")
        parser.add_argument(
            "--split", choices=["train", "validation"], help="the split of rollouts that do not state one"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        files = [file for path in options["path"] for file in _files(path)]
        with ExitStack() as open_files:
            sources = [Source(name=file.name, lines=open_files.enter_context(file.open("rb"))) for file in files]
            origin = ", ".join(file.name for file in files)
            run, report = import_run(sources, origin=origin, name=options["name"], split=options["split"])
        for name, number, reason in report.errors:
            self.stderr.write(f"{name} line {number}: {reason}")
        if run is None:
            raise CommandError("The files contain no rollouts, so no run was created.")
        rebuild(run.pk)
        self.stdout.write(f"{run.name}: {report.summary()} See /runs/{run.pk}/")


def _files(path: Path) -> list[Path]:
    if not path.exists():
        raise CommandError(f"{path} does not exist.")
    return sorted(path.glob("*.jsonl")) if path.is_dir() else [path]
