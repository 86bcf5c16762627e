"""`manage.py import_sweep SWEEP --runs FOLDER`: runs that were trained from a shell, as a sweep of the site."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

from django.contrib.auth.models import User
from django.core.management.base import BaseCommand, CommandError, CommandParser
from pydantic import ValidationError

from engine.sweeps.catalogue import SweepPreset, sweep_presets
from workers.importing_sweeps import NothingFound, import_sweep


class Command(BaseCommand):
    help = (
        "Creates a finished sweep from run directories: the folder has one for each run, with events.jsonl and its "
        "configuration in requested.json or config.json. Runs are copied; those that are missing are planned."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("sweep", help="the key of a sweep that ships, or a TOML file of the same shape")
        parser.add_argument("--runs", type=Path, required=True, help="the folder of the run directories")
        parser.add_argument("--name", default="", help="of the sweep; by default its title")
        parser.add_argument("--owner", help="a user of the site")

    def handle(self, *args: Any, **options: Any) -> None:
        owner = User.objects.filter(username=options["owner"]).first() if options["owner"] else None
        if options["owner"] and owner is None:
            raise CommandError(f"There is no user {options['owner']!r}.")
        try:
            sweep = import_sweep(_definition(options["sweep"]), options["runs"], name=options["name"], owner=owner)
        except NothingFound as error:
            raise CommandError(str(error)) from None
        there = sweep.planned.filter(run__isnull=False).count()
        self.stdout.write(f"/sweeps/{sweep.pk}/: {there} of {sweep.planned.count()} runs")


def _definition(given: str) -> SweepPreset:
    presets = sweep_presets()
    if given in presets:
        return presets[given]
    try:
        return SweepPreset.model_validate(tomllib.loads(Path(given).read_text()))
    except OSError:
        raise CommandError(
            f"{given!r} is neither a file nor a bundled sweep. Bundled are {', '.join(presets)}."
        ) from None
    except (tomllib.TOMLDecodeError, ValidationError) as error:
        raise CommandError(f"{given} is not a definition of a sweep: {error}") from None
