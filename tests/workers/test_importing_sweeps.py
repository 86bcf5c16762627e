"""Runs that were trained from a shell become a finished sweep of the site."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError

from benchmarks.science.catalogue import EXPERIMENTS
from benchmarks.science.runs import directory_of
from engine.config import RunConfig
from engine.sweeps.catalogue import SweepPreset
from engine.sweeps.configurations import with_changes
from engine.sweeps.points import points_of
from tests.builders.recorded_run import RecordedRun
from webapp.runs.models import Run
from webapp.sweeps.models import Sweep, SweepState
from webapp.sweeps.results import SweepResults
from workers.importing_sweeps import NothingFound, import_sweep

pytestmark = pytest.mark.django_db

DEFINITION = SweepPreset.model_validate({
    "title": "kl",
    "description": "How strong may it be?",
    "notes": "From none to much.",
    "changes": {"steps": 4},
    "plan": {"axes": [{"type": "values", "field": "loss.kl_coefficient", "values": [0.0, 0.1]}], "seeds": [1, 2]},
})  # fmt: skip


@pytest.fixture
def folder(tmp_path: Path, settings: Any) -> Path:
    """Both configurations with seed 1, as `python -m engine train` leaves them."""
    settings.RUNS_DIR = str(tmp_path / "recorded")
    values = DEFINITION.base_config().model_dump(mode="json")
    for number, point in enumerate(points_of(DEFINITION.plan, values)):
        recorded = RecordedRun(steps=4)
        recorded.take_steps(4)
        recorded.finish()
        config = RunConfig.model_validate({**with_changes(values, point), "seed": 1})
        (recorded.run.directory / "requested.json").write_text(config.model_dump_json())
        target = tmp_path / "trained" / str(number)
        target.parent.mkdir(exist_ok=True)
        recorded.run.directory.rename(target)
    Run.objects.all().delete()
    (tmp_path / "trained" / "other").mkdir()
    (tmp_path / "trained" / "other" / "events.jsonl").write_text("{}\n")
    settings.RUNS_DIR = str(tmp_path / "runs")
    return tmp_path / "trained"


def test_finished_runs_are_copied_with_their_results_and_missing_ones_are_planned(folder: Path) -> None:
    sweep = import_sweep(DEFINITION, folder)
    assert (sweep.name, sweep.state, sweep.planned.count()) == ("kl", SweepState.FINISHED, 4)
    assert (sweep.description, sweep.notes, sweep.curves) == (*DEFINITION.text.values(),)
    runs = [row.run for row in sweep.planned.select_related("run") if row.run is not None]
    assert sorted((run.config["loss"]["kl_coefficient"], run.config["seed"]) for run in runs) == [(0.0, 1), (0.1, 1)]
    assert [(run.state, run.step, run.steps.count()) for run in runs] == [("finished", 4, 4)] * 2
    counts = SweepResults(sweep).counts()
    assert (counts["finished"], counts["planned"]) == (2, 2)


def changed(folder: Path, **sections: Any) -> None:
    """The recorded configurations with other values in these sections."""
    for file in folder.glob("*/requested.json"):
        config = json.loads(file.read_text())
        for name, value in sections.items():
            config[name] = {**config[name], **value} if isinstance(value, dict) else value
        file.write_text(json.dumps(config))


def test_runs_with_other_sections_that_do_not_change_learning_are_copied_with_their_own(folder: Path) -> None:
    changed(folder, detectors={"rules": []}, capture={"every": 7}, evaluation={"every": 3}, checkpoint={"keep": 9})
    changed(folder, threads=1, description="by hand")
    sweep = import_sweep(DEFINITION, folder)
    runs = [row.run for row in sweep.planned.select_related("run") if row.run is not None]
    assert [(run.config["capture"]["every"], run.config["detectors"]["rules"]) for run in runs] == [(7, [])] * 2


def test_runs_that_learned_otherwise_are_refused_with_the_fields_and_both_values(folder: Path) -> None:
    changed(folder, optimizer={"learning_rate": 0.5}, evaluation={"temperature": 0.25}, capture={"every": 7})
    with pytest.raises(NothingFound) as refused:
        import_sweep(DEFINITION, folder)
    rate = DEFINITION.base_config().optimizer.learning_rate
    assert f"optimizer.learning_rate: 0.5 in the run, {json.dumps(rate)} in the sweep" in str(refused.value)
    assert "evaluation.temperature: 0.25 in the run, 1.0 in the sweep" in str(refused.value)
    assert "capture" not in str(refused.value) and "kl_coefficient" not in str(refused.value)
    assert not Sweep.objects.exists() and not Run.objects.exists()


def test_of_a_run_that_ended_early_the_rules_that_may_have_ended_it_are_compared(folder: Path) -> None:
    for events in folder.glob("[01]/events.jsonl"):
        lines = events.read_text().splitlines()
        last = {**json.loads(lines[-1]), "outcome": "collapsed"}
        events.write_text("\n".join([*lines[:-1], json.dumps(last)]) + "\n")
    assert import_sweep(DEFINITION, folder).planned.filter(run__isnull=False).count() == 2
    changed(folder, stop={"collapsed_after": 2})
    with pytest.raises(NothingFound, match=r"stop\.collapsed_after: 2 in the run, 0 in the sweep"):
        import_sweep(DEFINITION, folder)


def test_runs_of_an_experiment_become_the_sweep_of_its_name(tmp_path: Path, settings: Any) -> None:
    settings.RUNS_DIR = str(tmp_path / "recorded")
    experiment = EXPERIMENTS["gradient_by_reward_std"]
    for _, _, config in experiment.runs():
        recorded = RecordedRun(steps=4)
        recorded.take_steps(4)
        recorded.finish()
        target = directory_of(config, tmp_path / "science")
        target.parent.mkdir(exist_ok=True)
        recorded.run.directory.rename(target)
        (target / "requested.json").write_text(config.model_dump_json())
    Run.objects.all().delete()
    settings.RUNS_DIR = str(tmp_path / "runs")
    call_command("import_sweep", experiment.name, runs=tmp_path / "science")
    sweep = Sweep.objects.get()
    assert (sweep.name, sweep.description) == (experiment.sweep.title, experiment.question)
    assert sorted(row.seed for row in sweep.planned.filter(run__isnull=False)) == [1, 2, 3]


def test_the_command_reads_a_definition_and_says_what_is_missing(folder: Path, tmp_path: Path) -> None:
    file = tmp_path / "kl.toml"
    plan = json.dumps(DEFINITION.plan.seeds)
    file.write_text(
        f'title = "kl"\nchanges = {{ steps = 4 }}\n[plan]\nseeds = {plan}\n'
        '[[plan.axes]]\ntype = "values"\nfield = "loss.kl_coefficient"\nvalues = [0.0, 0.1]\n'
    )
    call_command("import_sweep", str(file), runs=folder, name="mine")
    assert Sweep.objects.get().name == "mine"
    with pytest.raises(CommandError, match="nor a bundled sweep"):
        call_command("import_sweep", "nope", runs=folder)
    with pytest.raises(NothingFound, match="has no finished run of this sweep"):
        import_sweep(DEFINITION, tmp_path)
