"""The verdict on recorded runs, step by step: when each stage of a collapse shows, and what intact runs show.

`recordings` has the starter run and three of *Watch a collapse* until all is lost, with what rules read;
`docs/findings` has success, evaluations and alerts of 125. `pytest -s` prints the steps at which each stage shows.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from statistics import fmean

import pytest

from benchmarks.science.verdicts import RecordedRun, recorded_run, recorded_runs, stages_table
from engine.config import DetectorsConfig, read_config
from engine.diagnostics.default_rules import DEFAULT_RULES

CONFIGS = Path(__file__).parents[3] / "engine/configs"
COLLAPSES = ("collapse_1", "collapse_2", "collapse_3")  # by seed
STAGES = ["too_early", "learning", "at_risk", "collapsing", "collapsed"]
WARNINGS = {rule.name for rule in DEFAULT_RULES if rule.severity != "watch"}


def recording(name: str) -> RecordedRun:
    """One of `recordings`: training runs of the presets with all of their default rules."""
    config = read_config(CONFIGS / f"{name.partition('_')[0]}.toml", [])
    result = json.loads((Path(__file__).parent / "recordings" / f"{name}.json").read_text())
    return recorded_run(name, "", config, {"alerts": [], **result}, rules=DetectorsConfig())


@pytest.fixture(scope="module")
def found() -> list[RecordedRun]:
    runs = recorded_runs()
    sys.stdout.write(f"\n{stages_table(runs)}\n")
    return runs


@pytest.fixture(scope="module")
def watched() -> list[RecordedRun]:
    return [recording(name) for name in COLLAPSES]


@pytest.fixture(scope="module")
def collapses(watched: list[RecordedRun]) -> list[RecordedRun]:
    runs = recorded_runs(["along_a_collapse", "stability_lake", "stability_bandit"])
    return [*(run for run in runs if run.kind == "collapsed"), *watched]


def test_watch_a_collapse_learns_and_then_goes_through_its_stages_in_order(watched: list[RecordedRun]) -> None:
    for run in watched:
        assert [label for _, label in run.labels()] == STAGES, run.name


def test_a_rate_that_is_too_high_from_the_start_leaves_no_time_to_be_learning(collapses: list[RecordedRun]) -> None:
    runs = [run for run in collapses if run.name.startswith("along_a_collapse")]
    assert len(runs) == 5
    for run in runs:
        assert [label for _, label in run.labels()] == [stage for stage in STAGES if stage != "learning"], run.name


def test_learning_and_risk_show_with_the_evaluation_or_the_alert_that_says_so(watched: list[RecordedRun]) -> None:
    for run in watched:
        shown = {label: step for step, label in run.labels()}
        (_, first), *later = run.recording.evaluations
        # half widths of 0.043: a rise of 0.043 √2 = 0.061 is beyond the interval of the difference
        risen = [step for step, metrics in later if metrics["eval/success"] > first["eval/success"] + 0.061]
        assert shown["learning"] == risen[0], run.name
        assert shown["at_risk"] <= min(run.alerts[rule] for rule in WARNINGS & run.alerts.keys()), run.name


def lasting(run: RecordedRun, limit: float | None = None) -> int:
    """The first of three steps in a row with success below the limit: half of the mean of the steps before, five at
    most, or a given one."""
    success = [value for _, value in run.success]
    for index in range(1, len(success) - 2):
        below = 0.5 * fmean(success[max(0, index - 5) : index]) if limit is None else limit
        if all(value < below for value in success[index : index + 3]):
            return run.success[index][0]
    raise AssertionError(f"{run.name} does not fall")


def test_each_stage_shows_two_steps_after_its_cause_at_the_latest(collapses: list[RecordedRun]) -> None:
    for run in collapses:
        signs = run.signs()
        assert signs["verdict: collapsing"] <= lasting(run) + 2, run.name
        assert signs["verdict: collapsed"] <= lasting(run, 0.05) + 2, run.name


def test_the_reasons_of_a_collapse_have_their_numbers(watched: list[RecordedRun]) -> None:
    run = watched[0]
    assert [step for step, _ in run.labels()] == [1, 5, 35, 37, 45]
    assert run.verdicts[15].reason == "Held-out success is 0.60 ± 0.04, above 0.46 ± 0.04 in the first evaluation."
    assert run.verdicts[35].reason == (
        "Held-out success is 0.457 [0.414, 0.5], significantly below 0.602 [0.559, 0.643] at its best. Alert "
        "held_out_fell at step 35."
    )
    assert run.verdicts[37].reason == (
        "Training success is 0.37 over steps 35 to 37 (limit 0.41, half of its best of 0.83 in step 18)."
    )
    assert "held-out 0.46 → 0.46 ± 0.04" in run.verdicts[37].summary
    assert (run.alerts["held_out_fell"], run.alerts["success_fell"]) == (35, 42)


def test_a_collapse_that_is_over_has_collapsed(collapses: list[RecordedRun]) -> None:
    assert {run.final.title for run in collapses} == {"Collapsed"}


@pytest.mark.slow
def test_intact_runs_are_seldom_at_risk_and_never_collapsing(found: list[RecordedRun]) -> None:
    intact = [run for run in found if run.kind == "intact"]
    assert len(intact) == 77
    assert sum("verdict: collapsing" in run.signs() for run in intact) == 0
    warned = [run for run in intact if "verdict: at risk" in run.signs()]
    # six by alerts; of the other two one ended a third below its best
    assert len(warned) <= 8
    assert sum(bool(run.alerts) for run in warned) == 6


def test_the_starter_run_learns_without_a_warning() -> None:
    run = recording("starter")
    assert [label for _, label in run.labels()] == ["too_early", "learning"]
    assert (run.final.title, run.alerts) == ("Learned", {})


@pytest.mark.slow
def test_the_rule_on_lost_success_warns_in_no_intact_run(found: list[RecordedRun]) -> None:
    for rule in ("success_fell", "held_out_fell"):
        assert not [run.name for run in found if run.kind == "intact" and rule in run.alerts]
        assert sum(rule in run.alerts for run in found if run.kind == "collapsed") == 17


@pytest.mark.slow
def test_success_that_stays_low_in_small_batches_is_seldom_called_a_collapse() -> None:
    # 30 runs of 400 steps of eight groups; two broke their format and lost all success, the others stayed near 0.1
    runs = recorded_runs(["entropy_and_chance"])
    lost = [run for run in runs if run.kind == "collapsed"]
    assert len(lost) == 2
    assert all("verdict: collapsing" in run.signs() for run in lost)
    assert sum("verdict: collapsing" in run.signs() for run in runs if run not in lost) <= 3
