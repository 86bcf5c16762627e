"""Arms of the template collapse: how often each collapses, differences by seed, and which alerts came before."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.science.catalogue import EXPERIMENTS
from benchmarks.science.pilots import ENTROPY, METRICS, MI, Pilot, departures
from benchmarks.science.template_collapse import (
    Judged,
    alerts_table,
    arms_table,
    differences_table,
    judged,
    outcomes_table,
    seeds_table,
)
from engine.config import read_config
from engine.sweeps.catalogue import CONFIGS

LABELS = ["all groups", "0.9 of the std", "0.9 of the variance", "all groups, no slip"]


def run(*, mi: float, alerts: dict[str, int] | None = None) -> Judged:
    """Mutual information goes from 0.9 to `mi` at step 120 of 200; all else stays."""
    curves = {}
    for name in METRICS:
        steps = range(1, 201, 5 if name in (MI, ENTROPY) else 1)
        curves[name] = [[step, mi if name == MI and step >= 120 else 0.9] for step in steps]
    pilot = Pilot(name="run", preset="starter", settings={}, seed=1, steps=200, minutes=1.0, curves=curves)
    return Judged(pilot, alerts or {})


ARMS = {
    "all groups": {1: run(mi=0.1, alerts={"early": 91, "late": 131}), 2: run(mi=0.2, alerts={"late": 121})},
    "filtered": {1: run(mi=0.8, alerts={"early": 50}), 2: run(mi=0.8)},
}


def test_each_arm_has_how_often_mutual_information_is_lost_from_which_step_and_how_often_it_collapses() -> None:
    # both lose it at 121, the first diagnosis from 120 on. 0.1 and 0.2: mean 0.15, standard error 0.05,
    # t(1) = 12.706: 0.15 +- 0.635
    lines = arms_table(ARMS).splitlines()
    assert lines[2].startswith("| all groups | 2 | 2/2 [0.34, 1.00] | 121.0 | 2/2 [0.34, 1.00] |")
    assert "| 0.150 [-0.49, 0.79] |" in lines[2]
    assert lines[3].startswith("| filtered | 2 | 0/2 [0.00, 0.66] | – | 0/2 [0.00, 0.66] |")


def test_each_arm_has_how_many_seeds_end_as_what() -> None:
    # 0.8 of 0.9 is more than 0.8 of the start
    assert outcomes_table(ARMS).splitlines() == [
        "| arm | MI kept | slow collapse |",
        "|---|---|---|",
        "| all groups | 0 | 2 |",
        "| filtered | 2 | 0 |",
    ]


def test_each_seed_has_what_was_at_its_start_and_at_its_end() -> None:
    lines = seeds_table(ARMS).splitlines()
    assert lines[2].startswith("| all groups | 1 | slow collapse | 121 | 0.9 → 0.1 | 0.9 → 0.9 |")
    assert lines[4].startswith("| filtered | 1 | MI kept | – | 0.9 → 0.8 |")


def test_differences_are_taken_seed_by_seed() -> None:
    # 0.8 - 0.1 and 0.8 - 0.2: mean 0.65 +- 0.635
    lines = differences_table(ARMS).splitlines()
    assert lines[0].startswith("| less all groups |")
    assert lines[2].startswith("| filtered | 2 | 0.650 [0.01, 1.29] |")


def test_only_alerts_before_the_loss_are_hits() -> None:
    lines = alerts_table(ARMS).splitlines()
    assert lines[2] == "| early | 1/2 [0.09, 0.91] | 30 | 0 | 1/2 [0.09, 0.91] |"  # 121 - 91
    assert lines[3] == "| late | 0/2 [0.00, 0.66] | – | 2 | 0/2 [0.00, 0.66] |"  # at 121 it is no hit


def test_the_arms_are_those_of_the_sweep_even_before_a_run_is_finished(tmp_path: Path) -> None:
    arms = judged("template_collapse", tmp_path)
    assert list(arms) == LABELS
    assert arms_table(arms).splitlines()[2] == "| all groups | 0 | – | – | – | – | – | – | – |"


@pytest.mark.parametrize(
    ("key", "label"), [("slow_collapse", "no KL penalty"), ("slow_collapse_prevented", "KL penalty 0.3")]
)
def test_the_presets_of_a_slow_collapse_and_its_prevention_are_the_arms_of_their_experiment(
    key: str, label: str
) -> None:
    preset = read_config(CONFIGS / f"{key}.toml")
    runs = EXPERIMENTS["kl_against_chance"].runs()
    (same_seed,) = [config for arm, seed, config in runs if (arm.label, seed) == (label, preset.seed)]
    assert preset.steps == same_seed.steps
    changed = departures(preset.model_dump(mode="json"), same_seed.model_dump(mode="json"))
    assert changed == {"environments.0.tag": "FrozenLake one turn, slippery"}
