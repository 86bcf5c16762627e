"""Rules in the form, tested on the steps a run has recorded, and the evidence of an alert."""

from __future__ import annotations

import json
from typing import Any, get_args

import pytest
from django.test import Client

from engine.config import DetectorsConfig
from engine.diagnostics.rule_config import RULE_CONFIGS, Action
from engine.diagnostics.rule_presets import RULE_PRESETS
from engine.events import Change, SettingsChanged
from engine.metrics import OF_THE_MACHINE
from tests.builders.recorded_run import RecordedRun
from tests.webapp.event_rows import add_event
from tests.webapp.runs.rows import a_run, report
from webapp.alerts.evidence import config_at, evidence_of
from webapp.alerts.rules import editor_data
from webapp.evaluations.models import Evaluation
from webapp.runs.models import Alert, Checkpoint, Run

LOW = {"name": "low", "kind": "below", "metric": "rollout/success", "limit": 0.3, "steps": 2}


def try_on(browser: Client, run: Run, rules: Any, **more: str) -> Any:
    return browser.post(f"/runs/{run.pk}/alerts/try/", {"rules": json.dumps(rules), **more})


def test_rules_are_tested_on_recorded_steps(browser: Client) -> None:
    run = a_run()
    report(run, 0.5, 0.2, 0.2, 0.5, 0.5, 0.1, 0.1)  # two in a row are low at 3, and again at 7
    answer = try_on(browser, run, [LOW], warn_action="pause").json()
    assert (answer["count"], answer["steps"], answer["last"]) == (2, 7, 7)
    assert [(one["step"], one["rule"], one["action"], one["raised"]) for one in answer["firings"]] == [
        (3, "low", "pause", False),
        (7, "low", "pause", False),
    ]


def test_alerts_that_the_run_raised_are_marked(browser: Client) -> None:
    run = a_run()
    report(run, 0.2, 0.2)
    Alert.objects.create(run=run, seq=9, step=2, time=1.0, rule="low", severity="warn", message="m")
    assert [one["raised"] for one in try_on(browser, run, [LOW]).json()["firings"]] == [True]


@pytest.mark.parametrize(
    ("rules", "field", "reason"),
    [
        ([{**LOW, "limit": "much"}], "detectors.rules.0.limit", "must be a number"),
        ([LOW, LOW], "detectors.rules", "several are named low"),
        ([{**LOW, "metric": "no/such"}], "detectors.rules.0.metric", "there is no metric"),
        ([{**LOW, "kind": "falls", "limit": 2}], "detectors.rules.0.limit", "less than 1"),
        ([{**LOW, "kind": "sinks"}], "detectors.rules.0.kind", "'sinks' is not allowed. Use one of below"),
        ([{"name": "low"}], "detectors.rules.0.kind", "missing"),
        ([{**LOW, "window": 5}], "detectors.rules.0.window", "unknown field"),
        ("nonsense", "detectors.rules", "must be a list"),
        ([None], "detectors.rules.0", "valid dictionary"),
    ],
)
def test_an_invalid_rule_is_refused_at_its_field(browser: Client, rules: Any, field: str, reason: str) -> None:
    answer = try_on(browser, a_run(), rules)
    assert answer.status_code == 422
    assert reason in answer.json()["errors"][field]


@pytest.mark.parametrize("text", ["", "{", "[" * 100_000, "x" * 300_000])
def test_an_unreadable_body_is_refused(browser: Client, text: str) -> None:
    answer = browser.post(f"/runs/{a_run().pk}/alerts/try/", {"rules": text})
    assert answer.status_code == 422


@pytest.mark.parametrize("key", RULE_PRESETS)
def test_every_starter_rule_set_is_valid(key: str) -> None:
    shown = editor_data()["presets"][key]["rules"]
    assert DetectorsConfig.model_validate({"rules": shown}).rules == RULE_PRESETS[key].rules


def test_the_editor_has_the_fields_of_each_kind() -> None:
    fields = {key: kind["fields"] for key, kind in editor_data()["kinds"].items()}
    assert {key: {one["name"] for one in found} for key, found in fields.items()} == {
        key: set(model.model_fields) for key, model in RULE_CONFIGS.items()
    }
    assert all(one["help"] for found in fields.values() for one in found)
    assert [one["name"] for one in fields["spike"]][:4] == ["name", "kind", "metric", "limit"]


def test_evidence_shows_the_rule_settings_and_metrics(browser: Client, recorded: RecordedRun) -> None:
    alert = recorded.run.alerts.get()
    page = browser.get(f"/runs/{recorded.run.pk}/alerts/{alert.seq}/").content.decode()
    assert "Entropy fell to a third of its baseline." in page
    assert "evidence-curve" in page
    assert "policy/entropy" in page
    assert '<dt class="mono">optimizer.learning_rate</dt>' in page
    found = evidence_of(alert)
    assert len(found.notable) == 8
    shown = found.notable + found.others
    away = [abs(one.deviations or 0.0) for one in shown if not one.name.startswith(OF_THE_MACHINE)]
    assert away == sorted(away, reverse=True)
    assert not any(one.name.startswith(OF_THE_MACHINE) for one in shown[: len(away)])


def test_evidence_compares_with_the_ten_steps_before(db: None) -> None:
    run = a_run()
    report(run, *[0.4, 0.6] * 5, 0.9)  # mean 0.5, standard deviation 0.1, so 0.9 is 4 of them away
    alert = Alert.objects.create(
        run=run, seq=99, step=11, time=1.0, rule="low", severity="warn", message="m", metric="rollout/success",
        baseline=0.3,
    )  # fmt: skip
    first = evidence_of(alert).notable[0]
    assert (first.name, first.value, first.mean) == ("rollout/success", 0.9, pytest.approx(0.5))
    assert first.deviations == pytest.approx(4.0)


def test_evidence_excludes_a_later_attempt_that_repeated_the_step(browser: Client, recorded: RecordedRun) -> None:
    alert = recorded.run.alerts.get()  # at step 20 of the first attempt, whose steps from 16 on are replaced
    recorded.resume(15)
    recorded.take_steps(10)
    recorded.deliver()
    found = evidence_of(alert)
    assert found.retaken
    assert (found.notable, found.others, list(found.worst)) == ([], [], [])
    assert found.curve is not None
    assert (found.curve.mark, len(found.curve.points.split())) == (None, 15)
    assert found.curve.ticks[-1] == (712.0, "20")  # the alert's position, at the right edge
    page = browser.get(f"/runs/{recorded.run.pk}/alerts/{alert.seq}/").content.decode()
    assert "The step's metrics no longer exist" in page
    assert "Trajectories of the step" not in page


def test_an_alert_without_a_step_excludes_later_attempts(browser: Client, recorded: RecordedRun) -> None:
    recorded.step = 0
    recorded.raise_alert("A sampler was replaced.")
    recorded.deliver()
    alert = recorded.run.alerts.get(step=0)
    assert not evidence_of(alert).retaken
    page = browser.get(f"/runs/{recorded.run.pk}/alerts/{alert.seq}/").content.decode()
    assert "The alert belongs to no step." in page
    assert "a later attempt" not in page


def test_evidence_continues_into_an_attempt_that_began_after_the_alert(recorded: RecordedRun) -> None:
    recorded.resume(20)
    recorded.take_steps(10)
    recorded.deliver()
    found = evidence_of(recorded.run.alerts.get())
    assert not found.retaken
    assert found.curve is not None
    assert len(found.curve.points.split()) == 30


def test_the_settings_are_those_in_force_at_the_alert(db: None) -> None:
    run = a_run()
    for seq, old, new in ((5, 2e-4, 1e-4), (9, 1e-4, 5e-5)):
        changes = {"optimizer.learning_rate": Change(old=old, new=new)}
        add_event(run, SettingsChanged(step=seq, revision=seq, changes=changes), seq=seq)
    assert [config_at(run, seq).optimizer.learning_rate for seq in (4, 7, 10)] == [2e-4, 1e-4, 5e-5]


def test_an_alert_of_another_run_is_not_found(browser: Client, recorded: RecordedRun) -> None:
    assert browser.get(f"/runs/{a_run().pk}/alerts/{recorded.run.alerts.get().seq}/").status_code == 404
    assert browser.get(f"/runs/{recorded.run.pk}/alerts/99999/").status_code == 404


def test_the_offered_fork_starts_at_the_last_checkpoint_before_the_alert(
    browser: Client, recorded: RecordedRun
) -> None:
    run = recorded.run
    for step in (10, 15, 20):
        (run.directory / f"checkpoints/step_{step}").mkdir(parents=True)
        recorded.step = step
        recorded.emit("checkpoint_saved", path=f"checkpoints/step_{step}", bytes=1, reason="schedule")
    recorded.deliver()
    page = browser.get(f"/runs/{run.pk}/alerts/{run.alerts.get().seq}/").content.decode()
    assert "Fork from step 15" in page
    assert f"?clone={run.pk}&amp;step=15" in page


HELD = {"name": "held", "kind": "below", "metric": "eval/success", "limit": 0.3, "steps": 2}


def evaluated(run: Run, step: int, **successes: int) -> None:
    """Ten episodes of each environment."""
    for environment, solved in successes.items():
        result = {"episodes": 10, "successes": solved, "success": solved / 10, "low": 0.0, "high": 1.0}
        Evaluation.objects.create(
            run=run,
            step=step,
            environment=environment,
            time=1.0,
            mean_return=0.5,
            first_seed=1,
            temperature=1.0,
            **result,
        )


def test_a_rule_on_held_out_success_is_tested_on_the_evaluations(browser: Client) -> None:
    run = a_run()
    report(run, *[0.5] * 6)
    for step, solved in ((0, 5), (2, 2), (4, 2)):
        evaluated(run, step, lake=solved, box=solved)
    [firing] = try_on(browser, run, [HELD]).json()["firings"]
    # it was good at step 0, so it may have fallen from step 1 on
    assert (firing["step"], firing["since"], firing["value"]) == (4, 1, pytest.approx(0.2))


def test_the_form_offers_a_mean_for_thresholds_and_changes_and_held_out_success() -> None:
    data = editor_data()
    defaults = {key: {one["name"]: one["default"] for one in kind["fields"]} for key, kind in data["kinds"].items()}
    means = {key: found["mean_over"] for key, found in defaults.items() if "mean_over" in found}
    assert means.items() >= {"below": 1, "above": 1, "falls": 1, "rises": 1, "gains": 1}.items()
    assert not means.keys() & {"spike", "z_score", "no_signal", "agreement"}
    assert "eval/success" in data["metrics"]
    action = next(one for one in data["kinds"]["below"]["fields"] if one["name"] == "action")
    assert (action["kind"], action["choices"]) == ("choice", ["by_severity", *get_args(Action)])


def test_a_mean_is_tested_as_the_engine_computes_it(browser: Client) -> None:
    run = a_run()
    report(run, 0.5, 0.1, 0.5, 0.1, 0.1, 0.1)  # means of three: 0.37, 0.23, 0.23, 0.1
    rule = {**LOW, "steps": 1, "mean_over": 3}
    assert [one["step"] for one in try_on(browser, run, [rule]).json()["firings"]] == [4]
    refused = try_on(browser, run, [{**LOW, "kind": "spike", "limit": 3, "mean_over": 3}])
    assert "unknown field" in refused.json()["errors"]["detectors.rules.0.mean_over"]


def test_evidence_of_a_held_out_alert_draws_the_evaluations_and_forks_from_before_the_drop(db: None) -> None:
    run = a_run()
    report(run, *[0.5] * 6)
    for step, solved in ((0, 5), (2, 2), (4, 2)):
        evaluated(run, step, lake=solved)
    for step in (1, 3):
        Checkpoint.objects.create(run=run, step=step, path=f"checkpoints/step_{step}", bytes=1, reason="x", time=1.0)
        (run.directory / f"checkpoints/step_{step}").mkdir(parents=True)
    alert = Alert.objects.create(
        run=run, seq=99, step=4, time=1.0, rule="held", severity="warn", message="m", metric="eval/success",
        baseline=0.3, since=2,
    )  # fmt: skip
    found = evidence_of(alert)
    assert found.curve is not None and len(found.curve.points.split()) == 3
    assert found.checkpoint is not None and found.checkpoint.step == 1
