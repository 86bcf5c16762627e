"""Runs that `python -m engine train` made, as a finished sweep of the site.

A directory of runs has one folder for each, with `events.jsonl` and the configuration in `requested.json` or
`config.json`. Those whose configurations are those of the sweep's definition are copied.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from django.contrib.auth.models import User
from django.db import transaction
from pydantic import ValidationError

from engine.config import RunConfig
from engine.diagnostics.recordings import read_events
from engine.events import RunFinished
from engine.sweeps.catalogue import SweepPreset
from engine.sweeps.configurations import with_changes
from engine.sweeps.plan import Seed
from engine.sweeps.points import Point, fixed, points_of, trials_of
from webapp.audit.services import record
from webapp.runs.lineage import join_lineage
from webapp.runs.models import Run
from webapp.runs.states import RunState
from webapp.sweeps.models import PlannedRun, Sweep, SweepState
from workers.rebuilding import rebuild

CONFIGS = ("requested.json", "config.json")
NOT_COMPARED = {"preset", "description"}  # labels


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A run of the sweep, and where it lies."""

    point: Point
    seed: Seed
    config: RunConfig
    directory: Path


class NothingFound(Exception):
    """What was looked for, for the user."""


def import_sweep(definition: SweepPreset, folder: Path, *, name: str = "", owner: User | None = None) -> Sweep:
    """Raises `NothingFound` if no finished run of the sweep lies there. Runs that are missing are planned: resuming the
    sweep trains them."""
    base = definition.base_config()
    values = base.model_dump(mode="json")
    found = {(one.point.key, one.seed): one for one in _found(definition, folder)}
    if not found:
        raise NothingFound(f"{folder} has no finished run of this sweep. Give the folder of its runs.")
    with transaction.atomic():
        sweep = Sweep.objects.create(
            name=(name or definition.title)[:80],
            owner=owner,
            **definition.text,
            preset=base.preset,
            config=values,
            plan=fixed(definition.plan, values).model_dump(mode="json"),
            state=SweepState.FINISHED,
        )
        points = points_of(definition.plan, values)
        for order, trial in enumerate(trials_of(points, definition.plan.seeds, definition.plan.sweep_seed)):
            one = found.get((trial.point.key, trial.seed))
            PlannedRun.objects.create(
                sweep=sweep,
                order=order,
                point_key=trial.point.key,
                labels=dict(trial.point.labels),
                changes=dict(trial.point.changes),
                seed=trial.seed,
                run=_import(one, sweep) if one is not None else None,
            )
    return sweep


def _found(definition: SweepPreset, folder: Path) -> Iterator[Found]:
    known = dict(_finished_runs(folder))
    values = definition.base_config().model_dump(mode="json")
    for point in points_of(definition.plan, values):
        for seed in definition.plan.seeds:
            config = RunConfig.model_validate({**with_changes(values, point), "seed": seed})
            if (directory := known.get(_key(config))) is not None:
                yield Found(point=point, seed=seed, config=config, directory=directory)


def _finished_runs(folder: Path) -> Iterator[tuple[str, Path]]:
    for events in sorted(folder.glob("*/events.jsonl")):
        directory = events.parent
        file = next((directory / name for name in CONFIGS if (directory / name).exists()), None)
        if file is None:
            continue
        try:
            config = RunConfig.model_validate(json.loads(file.read_text()))
        except (ValidationError, ValueError):
            continue  # of another version, or of another program
        last = read_events(directory)[-1:]
        if last and isinstance(last[0], RunFinished):
            yield _key(config), directory


def _key(config: RunConfig) -> str:
    return config.model_dump_json(exclude=NOT_COMPARED)


def _import(found: Found, sweep: Sweep) -> Run:
    labels = ", ".join([*found.point.labels.values(), f"seed {found.seed}"])
    run = Run(
        name=f"{sweep.name[:40]}: {labels}"[:80],
        owner=sweep.owner,
        preset=sweep.preset,
        config=found.config.model_dump(mode="json"),
        total_steps=found.config.steps,
        state=RunState.FINISHED,
        finished_at=datetime.fromtimestamp((found.directory / "events.jsonl").stat().st_mtime, UTC),
    )
    join_lineage(run)
    shutil.copytree(found.directory, run.directory)
    run.save(force_insert=True)
    record(run, sweep.owner, "import", files=found.directory.name)
    return rebuild(run.pk)
