"""Experiments: every arm is a run that the engine accepts; tables and curves show the results."""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

from benchmarks.science.__main__ import FINDINGS, is_recorded
from benchmarks.science.catalogue import EXPERIMENTS
from benchmarks.science.experiment import Experiment
from benchmarks.science.plot import mean_curve, plot, plot_curves
from benchmarks.science.runs import directory_of
from benchmarks.science.table import means_table, table
from engine.config import RunConfig
from engine.sweeps.catalogue import sweep_presets


@pytest.mark.parametrize("experiment", EXPERIMENTS.values(), ids=EXPERIMENTS)
def test_every_arm_is_a_distinct_run_that_the_engine_accepts(experiment: Experiment) -> None:
    configs = [experiment.config(arm, seed) for arm in experiment.arms for seed in experiment.seeds]
    assert all(isinstance(config, RunConfig) for config in configs)
    assert len({config.model_dump_json() for config in configs}) == len(configs)


def test_every_sweep_at_small_size_is_an_experiment_with_the_runs_of_its_definition() -> None:
    assert set(EXPERIMENTS) == {key for key, one in sweep_presets().items() if one.size == "small"}
    kl = EXPERIMENTS["kl"]
    assert [arm.label for arm in kl.arms] == ["0", "0.001", "0.003", "0.01", "0.03", "0.1"]
    assert kl.config(kl.arms[1], 2).loss.kl_coefficient == 0.001 and kl.config(kl.arms[1], 2).seed == 2


def test_the_same_run_in_two_experiments_is_trained_once(tmp_path: Path) -> None:
    first, second = (EXPERIMENTS[name] for name in ("filter_mass", "action_budget"))
    directories = [{directory_of(config, tmp_path) for _, _, config in one.runs()} for one in (first, second)]
    assert len(directories[0] & directories[1]) == 3  # the starter run, with three seeds


def test_runs_that_differ_in_no_more_than_the_kind_of_a_section_have_directories_of_their_own(tmp_path: Path) -> None:
    """A filter by top-k with its default, and one by top-p with its own, for example."""
    trained: dict[Path, set[str]] = defaultdict(set)
    for experiment in EXPERIMENTS.values():
        for _, _, config in experiment.runs():
            directory = directory_of(config, tmp_path)
            trained[directory].add(config.model_dump_json(exclude={"preset", "description"}))
    assert [configs for configs in trained.values() if len(configs) > 1] == []


def result(arm: str, seed: int, solved: int, *, collapsed: int | None = None) -> dict[str, Any]:
    evaluations = [
        {"step": 0, "environment": "Lake", "episodes": 10, "successes": 5, "final": False},
        {"step": 2, "environment": "Lake", "episodes": 10, "successes": solved, "final": True},
    ]
    curves = {"rollout/success": [[1, 0.5], [2, solved / 10]], "policy/entropy": [], "collapse/mi_ratio": []}
    return {
        "arm": arm, "seed": seed, "means": {"policy/entropy": float(seed)},
        "evaluations": evaluations, "curves": curves, "collapsed_at": collapsed, "alerts": [],
        "seconds": 3.0, "steps": 2,
    }  # fmt: skip


def test_the_table_has_the_mean_over_seeds_with_its_t_interval() -> None:
    # 0.6, 0.7, 0.8: mean 0.7, standard error 0.1 / sqrt(3), t(2) = 4.303: 0.7 +- 0.248
    lines = table([result("a", seed, solved) for seed, solved in ((1, 6), (2, 7), (3, 8))]).splitlines()
    assert lines[2:] == ["| a | 3 | 0.500 | 0.700 | [0.452, 0.948] | 0 of 3 |"]


def test_means_over_steps_have_one_row_per_metric_and_one_column_per_arm() -> None:
    # 1, 2, 3: mean 2, standard error 1 / sqrt(3), t(2) = 4.303: 2 +- 2.48
    lines = means_table([result(arm, seed, 6) for arm in "ab" for seed in (1, 2, 3)]).splitlines()
    assert lines[0] == "| mean over steps | a | b |"
    assert lines[2] == "| policy/entropy | 2 [-0.484, 4.48] | 2 [-0.484, 4.48] |"


def test_one_seed_has_no_interval() -> None:
    assert "| one seed | 1 of 1 |" in table([result("a", 1, 0, collapsed=2)])


def test_equal_seeds_have_no_interval() -> None:
    equal = [result("a", seed, 7) | {"means": {"x": 2.0}} for seed in (1, 2)]
    assert table(equal).splitlines()[2:] == ["| a | 2 | 0.500 | 0.700 | 2 seeds, all equal | 0 of 2 |"]
    assert means_table(equal).splitlines()[2:] == ["| x | 2 (2 seeds, all equal) |"]


RECORDED = [experiment for experiment in EXPERIMENTS.values() if is_recorded(experiment)]


@pytest.mark.parametrize("experiment", RECORDED, ids=lambda one: one.name)
def test_stored_results_have_the_arms_and_curves_of_the_catalogue(experiment: Experiment) -> None:
    results = json.loads((FINDINGS / f"{experiment.name}.json").read_text())
    assert {result["arm"] for result in results} == {arm.label for arm in experiment.arms}
    assert {name for result in results for name in result["curves"]} == set(experiment.curves)


def test_the_mean_curve_is_over_the_seeds_that_have_the_step() -> None:
    assert mean_curve([[[1, 0.0], [2, 1.0]], [[1, 1.0]]]) == [(1, 0.5), (2, 1.0)]


def test_curves_are_drawn_to_a_file(tmp_path: Path) -> None:
    experiment = EXPERIMENTS["filter_mass"]
    results = [result(arm.label, seed, 6) for arm in experiment.arms for seed in (1, 2)]
    for one in results:
        one["curves"] = {name: [[1, 0.5], [2, 0.6]] for name in experiment.curves}
    plot(experiment, results, tmp_path / "curves.svg")
    assert (tmp_path / "curves.svg").read_text().count("<svg") == 1


def test_every_arm_is_drawn_also_when_there_are_more_than_colours(tmp_path: Path) -> None:
    arms = [f"arm {number}" for number in range(15)]
    results = [{**result(arm, 1, 6), "curves": {"rollout/success": [[1, 0.5], [2, 0.6]]}} for arm in arms]
    plot_curves(["rollout/success"], arms, results, tmp_path / "curves.svg")
    text = (tmp_path / "curves.svg").read_text()
    assert [arm for arm in arms if f"<!-- {arm} -->" not in text] == []
