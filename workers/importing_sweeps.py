"""Runs that `python -m engine train` made, as a finished sweep of the site.

A directory of runs has one folder for each, with `events.jsonl` and the configuration in `requested.json` or
`config.json`. Those that were trained as the sweep's definition says are copied (`matching_configs`).
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Sequence
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
from workers.matching_configs import Fields, compared_fields, differing, key_of, listed
from workers.rebuilding import rebuild

CONFIGS = ("requested.json", "config.json")


@dataclass(frozen=True, slots=True, kw_only=True)
class Trained:
    """A finished run, and where it lies. One that `ended_early` may have done so by a rule that others do not have."""

    config: RunConfig
    directory: Path
    ended_early: bool

    @property
    def fields(self) -> Fields:
        return compared_fields(self.config, endings=self.ended_early)


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A run of the sweep."""

    point: Point
    seed: Seed
    trained: Trained


class NothingFound(Exception):
    """What was looked for, for the user."""


def import_sweep(definition: SweepPreset, folder: Path, *, name: str = "", owner: User | None = None) -> Sweep:
    """Raises `NothingFound` if no finished run of the sweep lies there. Runs that are missing are planned: resuming the
    sweep trains them."""
    base = definition.base_config()
    values = base.model_dump(mode="json")
    trained = list(_finished_runs(folder))
    found = {(one.point.key, one.seed): one for one in _found(definition, trained)}
    if not found:
        raise NothingFound(f"{folder} has no finished run of this sweep. {_why_not(definition, trained)}")
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


def _trials(definition: SweepPreset) -> Iterator[tuple[Point, Seed, RunConfig]]:
    values = definition.base_config().model_dump(mode="json")
    for point in points_of(definition.plan, values):
        for seed in definition.plan.seeds:
            yield point, seed, RunConfig.model_validate({**with_changes(values, point), "seed": seed})


def _found(definition: SweepPreset, trained: Sequence[Trained]) -> Iterator[Found]:
    known = {key_of(one.fields): one for one in trained}
    for point, seed, config in _trials(definition):
        keys = [key_of(compared_fields(config, endings=endings)) for endings in (False, True)]
        if (one := next((known[key] for key in keys if key in known), None)) is not None:
            yield Found(point=point, seed=seed, trained=one)


def _why_not(definition: SweepPreset, trained: Sequence[Trained]) -> str:
    """What the run that comes closest has other than the sweep."""
    if not trained:
        return "Give the folder of its runs."
    pairs = [(one, config) for one in trained for _, _, config in _trials(definition)]
    of = {one.directory: one.fields for one in trained}
    differences = [
        (one, differing(of[one.directory], compared_fields(config, endings=one.ended_early))) for one, config in pairs
    ]
    closest, fields = min(differences, key=lambda pair: len(pair[1]))
    return (
        f"Of its runs, {closest.directory.name} comes closest, which was trained with other settings:{listed(fields)}\n"
        "Give the folder of the runs of this sweep, or a definition with the settings of these."
    )


def _finished_runs(folder: Path) -> Iterator[Trained]:
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
            yield Trained(config=config, directory=directory, ended_early=last[0].outcome != "completed")


def _import(found: Found, sweep: Sweep) -> Run:
    trained = found.trained
    labels = ", ".join([*found.point.labels.values(), f"seed {found.seed}"])
    run = Run(
        name=f"{sweep.name[:40]}: {labels}"[:80],
        owner=sweep.owner,
        preset=sweep.preset,
        config=trained.config.model_dump(mode="json"),
        total_steps=trained.config.steps,
        state=RunState.FINISHED,
        finished_at=datetime.fromtimestamp((trained.directory / "events.jsonl").stat().st_mtime, UTC),
    )
    join_lineage(run)
    shutil.copytree(trained.directory, run.directory)
    with transaction.atomic():
        run.save(force_insert=True)
        record(run, sweep.owner, "import", files=trained.directory.name)
    return rebuild(run.pk)
