"""Experiments of `benchmarks.science` as sweeps of a site: launched there, and their runs read from it."""

from __future__ import annotations

from pathlib import Path

import pytest
from django.contrib.auth.models import User

from benchmarks.science import on_site
from benchmarks.science.__main__ import is_done
from benchmarks.science.catalogue import EXPERIMENTS
from benchmarks.science.runs import directory_of
from engine.config import RunConfig
from engine.sweeps.configurations import with_changes
from starboard_client.errors import StarboardError
from tests.builders.recorded_run import RecordedRun
from webapp.runs.models import Run
from webapp.sweeps.models import PlannedRun, Sweep

ONE = EXPERIMENTS["gradient_by_reward_std"]  # of three runs


def config_of(row: PlannedRun) -> RunConfig:
    return RunConfig.model_validate({**with_changes(row.sweep.config, row.point), "seed": row.seed})


def test_every_experiment_is_launched_with_the_runs_that_a_shell_trains(shell: Path) -> None:
    for experiment in EXPERIMENTS.values():
        address = on_site.launch(experiment, jobs=1)
        sweep = Sweep.objects.get(pk=address.rstrip("/").rpartition("/")[2])
        assert (sweep.name, sweep.description) == (experiment.sweep.title, experiment.question)
        assert (sweep.notes, tuple(sweep.curves)) == (experiment.sweep.notes, experiment.curves)
        trained = {directory_of(config, shell) for _, _, config in experiment.runs()}
        assert {directory_of(config_of(row), shell) for row in sweep.planned.all()} == trained, experiment.name
        Run.objects.all().delete()


def test_finished_runs_of_a_site_are_read_where_those_of_a_shell_would_be(shell: Path) -> None:
    on_site.launch(ONE, jobs=3)
    sweep = Sweep.objects.get()
    for row in sweep.planned.select_related("run"):
        recorded = RecordedRun(steps=4)
        recorded.take_steps(4)
        recorded.finish()
        PlannedRun.objects.filter(pk=row.pk).update(run=recorded.run)
    assert not is_done(ONE, shell / "science")
    on_site.fetch(ONE, sweep.pk, shell / "science")
    assert is_done(ONE, shell / "science")


def test_runs_of_another_sweep_are_refused(shell: Path) -> None:
    on_site.launch(EXPERIMENTS["kl"], jobs=1)
    with pytest.raises(StarboardError, match="which gradient_by_reward_std has not"):
        on_site.fetch(ONE, Sweep.objects.get().pk, shell / "science")
    assert User.objects.count() == 1
