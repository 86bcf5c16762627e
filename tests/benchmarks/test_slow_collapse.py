"""Pilots of the slow collapse: what they are called by their curves, and what the page keeps of them."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from benchmarks.science import slow_collapse
from benchmarks.science.pilots import (
    ENTROPY,
    METRICS,
    MI,
    SUCCESS,
    TOKEN_ENTROPY,
    WELL_FORMED,
    Pilot,
    departures,
    preset_of,
    read_pilot,
    thinned,
)
from engine.config import RunConfig
from engine.events import StepCompleted

STEPS = 300
HEALTHY = {MI: (0.9, 0.9), TOKEN_ENTROPY: (0.4, 0.4), SUCCESS: (0.5, 0.5), WELL_FORMED: (1.0, 1.0)}


def pilot(*, halves_at: int = 150, **changes: tuple[float, float]) -> Pilot:
    """Every metric has one value before `halves_at` and another from there on; diagnoses are every tenth step."""
    levels = HEALTHY | {NAMES[name]: pair for name, pair in changes.items()}
    curves = {}
    for name in METRICS:
        before, after = levels.get(name, (1.0, 1.0))
        steps = range(1, STEPS + 1, 10 if name in (MI, TOKEN_ENTROPY) else 1)
        curves[name] = [[step, before if step < halves_at else after] for step in steps]
    return Pilot(name="one", preset="starter", settings={}, seed=101, steps=STEPS, minutes=1.5, curves=curves)


NAMES = {"mi": MI, "entropy": TOKEN_ENTROPY, "success": SUCCESS, "well_formed": WELL_FORMED}


def test_mutual_information_lost_late_with_all_else_kept_is_a_slow_collapse() -> None:
    one = pilot(mi=(0.9, 0.3), halves_at=150)
    assert one.outcome == "slow collapse"
    assert one.lost_at == 151  # the first diagnosis at or after step 150


def test_the_same_within_a_hundred_steps_is_a_fast_one() -> None:
    assert pilot(mi=(0.9, 0.3), halves_at=60).outcome == "fast collapse"


@pytest.mark.parametrize(
    ("changes", "outcome"),
    [
        ({}, "MI kept"),
        ({"mi": (0.9, 0.6)}, "MI fell in part"),  # 0.67 of its start
        ({"mi": (0.9, 0.3), "entropy": (0.4, 0.24)}, "low entropy"),  # 0.6 of its start
        ({"mi": (0.9, 0.3), "success": (0.5, 0.3)}, "success lost"),  # 0.6 of its start
        ({"mi": (0.9, 0.3), "well_formed": (1.0, 0.8)}, "format broke"),
    ],
)
def test_what_else_a_pilot_can_end_as(changes: dict[str, tuple[float, float]], outcome: str) -> None:
    assert pilot(**changes).outcome == outcome


def test_a_pilot_that_was_stopped_within_a_hundred_steps_says_nothing() -> None:
    assert replace(pilot(mi=(0.9, 0.3)), steps=80).outcome == "too short"


def test_mutual_information_that_comes_back_was_not_lost() -> None:
    one = pilot()
    one.curves[MI][15][1] = 0.1
    assert one.lost_at is None


def test_a_start_is_the_mean_of_three_diagnoses_and_of_twenty_steps() -> None:
    one = pilot()
    one.curves[MI][:3] = [[1, 0.9], [11, 0.6], [21, 0.3]]
    one.curves[SUCCESS][:20] = [[step, 0.1] for step in range(1, 21)]
    assert one.before(MI) == pytest.approx(0.6)
    assert one.before(SUCCESS) == pytest.approx(0.1)


def test_mutual_information_that_was_up_again_at_the_last_diagnosis_fell_in_part() -> None:
    # means of the last three: 0.3 of a start of 0.9, but the last one is 0.5, which is more than 0.45
    one = pilot(mi=(0.9, 0.3))
    one.curves[MI][-3:] = [[271, 0.2], [281, 0.2], [291, 0.5]]
    assert one.lost_at is None
    assert one.outcome == "MI fell in part"


def test_stored_pilots_are_judged_by_the_definition_of_today() -> None:
    stored = slow_collapse.as_stored(pilot(mi=(0.9, 0.3))) | {"outcome": "an older word"}
    assert slow_collapse.merged([stored], [])[0]["outcome"] == "slow collapse"


def test_only_settings_that_change_learning_are_departures_from_the_preset() -> None:
    _, base = preset_of("Starter")
    changed = RunConfig.model_validate(
        {**base, "seed": 7, "evaluation": {"every": 0}, "loss": {"entropy_coefficient": 0.05}}
    )
    assert departures(changed.model_dump(mode="json"), base) == {"loss.entropy_coefficient": 0.05}


def test_settings_of_environments_are_named_by_their_position() -> None:
    _, base = preset_of("Starter")
    environment = {**base["environments"][0], "max_turns": 1, "parameters": {"success_rate": 0.34}}
    changed = RunConfig.model_validate({**base, "environments": [environment]}).model_dump(mode="json")
    assert departures(changed, base) == {
        "environments.0.parameters.success_rate": 0.34,
        "environments.0.max_turns": 1,
    }


def test_thinned_curves_are_means_of_neighbours_at_the_last_step_of_each() -> None:
    # five points in at most three: pairs, and the last one alone
    assert thinned([[1, 0.0], [2, 1.0], [3, 2.0], [4, 4.0], [5, 6.0]], 3) == [[2, 0.5], [4, 3.0], [5, 6.0]]


def write_run(directory: Path, *, steps: int = 30) -> None:
    """Half a core for two seconds a step: 30 steps are half a CPU minute."""
    directory.mkdir(parents=True)
    _, base = preset_of("Starter")
    config = RunConfig.model_validate({**base, "seed": 101, "loss": {"entropy_coefficient": 0.05}})
    (directory / "config.json").write_text(config.model_dump_json())
    metrics = dict.fromkeys(METRICS, 0.5) | {"time/step": 2.0, "system/process_cpu_cores": 0.5}
    events = [
        StepCompleted(seq=step, time=float(step), attempt=1, epoch=0, step=step, seconds=2.0, tokens=9, metrics=metrics)
        for step in range(1, steps + 1)
    ]
    (directory / "events.jsonl").write_text("".join(event.model_dump_json() + "\n" for event in events))


def test_a_pilot_is_read_from_its_run_directory(tmp_path: Path) -> None:
    write_run(tmp_path / "first")
    one = read_pilot(tmp_path / "first")
    assert (one.name, one.preset, one.seed, one.steps, one.minutes) == ("first", "starter", 101, 30, 0.5)
    assert one.settings == {"loss.entropy_coefficient": 0.05}


@pytest.fixture
def generate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[dict[str, Any]]]:
    """Runs the command on a page of its own, and returns the data it stored."""
    findings = tmp_path / "findings"
    findings.mkdir()
    (findings / "slow_collapse.md").write_text("# Page\n\n<!-- pilots -->\n\nText.\n\n<!-- totals -->\n\nEnd.\n")

    def run(*arguments: str) -> list[dict[str, Any]]:
        monkeypatch.setattr(sys, "argv", ["slow_collapse", *arguments, "--findings", str(findings)])
        assert slow_collapse.main() == 0
        found: list[dict[str, Any]] = json.loads((findings / "slow_collapse.json").read_text())
        return found

    return run


def test_pilots_of_another_folder_join_those_that_are_stored(
    tmp_path: Path, generate: Callable[..., list[dict[str, Any]]]
) -> None:
    write_run(tmp_path / "a" / "first")
    write_run(tmp_path / "b" / "second")
    generate(str(tmp_path / "a"))
    stored = generate(str(tmp_path / "b"))
    assert [one["name"] for one in stored] == ["first", "second"]
    page = (tmp_path / "findings" / "slow_collapse.md").read_text()
    assert "| first | starter: entropy_coefficient 0.05 | 101 | 30 | 0.5 | 0.5 → 0.5 | 0.5 → 0.5 |" in page
    assert "| 2 | 0.02 of 30 |" in page  # a CPU minute of 60 in an hour
    assert "Text." in page
    assert [one["name"] for one in generate("--drop", "first")] == ["second"]


def test_the_course_of_a_pilot_is_in_means_of_forty_steps() -> None:
    # readings at 1, 21 and 41: 0.9 and 0.7 are in the first column, 0.3 in the second
    curves = {MI: [[1, 0.9], [21, 0.7], [41, 0.3]], ENTROPY: [[1, 5.0], [21, 6.0], [41, 7.0]]}
    one = {"name": "one", "steps": 41, "settings": {"loss.entropy_coefficient": 0.005}, "curves": curves}
    other = {**one, "name": "other", "settings": {}}
    lines = slow_collapse.course_table([one, other]).splitlines()
    assert lines[0] == "| steps | 1 | 41 |"
    assert lines[2:] == ["| one | 0.80 (5.5) | 0.30 (7.0) |"]


def test_a_run_without_a_step_is_no_pilot(tmp_path: Path, generate: Callable[..., list[dict[str, Any]]]) -> None:
    write_run(tmp_path / "a" / "empty", steps=0)
    assert generate(str(tmp_path / "a")) == []


def test_the_page_has_the_table_of_the_stored_pilots() -> None:
    stored = json.loads((slow_collapse.FINDINGS / "slow_collapse.json").read_text())
    page = (slow_collapse.FINDINGS / "slow_collapse.md").read_text()
    assert slow_collapse.table(stored) in page
    assert slow_collapse.totals(stored) in page
    assert slow_collapse.course_table(stored) in page
