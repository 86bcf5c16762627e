"""The verdict of a run is the engine's, and every page shows the same one; life-cycle states take precedence."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError
from django.test import Client

from engine.__main__ import main
from engine.verdict.thresholds import RULES_VERSION
from tests.builders.recorded_run import RecordedRun
from tests.webapp.runs.rows import a_run, report
from webapp.runs.models import Run
from webapp.runs.states import RunState
from webapp.runs.verdicts import reassess, regimes_of, status_of

pytestmark = pytest.mark.django_db


def stored(run: Run) -> Run:
    return Run.objects.get(pk=run.pk)


def assess(run: Run, capsys: pytest.CaptureFixture[str]) -> dict[str, object]:
    """The output of the command line for the run's directory."""
    (run.directory / "config.json").write_text(json.dumps(run.config))
    capsys.readouterr()
    assert main(["assess", str(run.directory), "--json"]) == 0
    found: dict[str, object] = json.loads(capsys.readouterr().out)
    return found


@pytest.fixture
def recorded(runs_directory: Path) -> RecordedRun:
    return RecordedRun(steps=100)


def test_page_api_and_command_line_show_the_same_verdict(
    recorded: RecordedRun, browser: Client, capsys: pytest.CaptureFixture[str]
) -> None:
    recorded.take_steps(45)
    recorded.raise_alert("Entropy fell to a third of its baseline.")
    recorded.take_steps(5)
    recorded.deliver()
    expected = assess(recorded.run, capsys)
    assert (expected["label"], expected["step"], expected["since"]) == ("at_risk", 50, 45)
    assert browser.get(f"/api/v1/runs/{recorded.run.pk}/verdict").json() == expected
    assert browser.get(f"/api/v1/runs/{recorded.run.pk}/").json()["verdict"] == expected
    page = browser.get(f"/runs/{recorded.run.pk}/").content.decode()
    assert f'<span id="verdict-reason">{expected["reason"]}</span>' in page
    assert f'<span class="muted" id="verdict-summary">{expected["summary"]}</span>' in page
    assert f'<p class="muted" id="verdict-rules" data-installed="{RULES_VERSION}">' in page
    reassess(recorded.run)  # from rows
    assert stored(recorded.run).verdict == expected


def test_after_a_resume_rows_and_file_agree_again(recorded: RecordedRun, capsys: pytest.CaptureFixture[str]) -> None:
    recorded.take_steps(30)
    recorded.raise_alert("Entropy fell to a third of its baseline.")
    recorded.deliver()
    assert recorded.run.verdict["label"] == "at_risk"
    recorded.resume(20)
    recorded.take_steps(20)
    recorded.deliver()
    expected = assess(recorded.run, capsys)
    assert expected["label"] != "at_risk"  # the alert belongs to a repeated step
    assert recorded.run.verdict == expected
    reassess(recorded.run)
    assert stored(recorded.run).verdict == expected


def test_only_the_first_verdict_of_a_label_is_an_event_of_its_own(recorded: RecordedRun) -> None:
    recorded.take_steps(24)
    recorded.deliver()
    found = recorded.run.events.filter(kind="verdict_updated").values_list("payload", flat=True)
    assert [(one["step"], one["verdict"]["label"]) for one in found] == [(1, "too_early"), (20, "learning")]
    assert recorded.run.verdict["step"] == 24


def test_a_verdict_by_older_rules_is_replaced_on_demand(
    recorded: RecordedRun, capsys: pytest.CaptureFixture[str]
) -> None:
    recorded.take_steps(30)
    recorded.deliver()
    current = recorded.run.verdict
    Run.objects.filter(pk=recorded.run.pk).update(verdict={**current, "label": "flat", "rules_version": 0})
    call_command("assess_runs")
    assert stored(recorded.run).verdict == current
    assert f"1 runs assessed by rules {RULES_VERSION}" in capsys.readouterr().out
    call_command("assess_runs")
    assert f"0 runs assessed by rules {RULES_VERSION}" in capsys.readouterr().out
    with pytest.raises(CommandError, match="There is no run 'nothing'"):
        call_command("assess_runs", "nothing")


def test_a_run_without_steps_has_no_verdict(browser: Client) -> None:
    run = a_run()
    assert (status_of(run).label, status_of(run).reason) == ("Waiting", "No steps yet.")
    assert reassess(run) is None
    assert browser.get(f"/api/v1/runs/{run.pk}/verdict").status_code == 404
    run.state = RunState.STOPPED
    assert (status_of(run).label, status_of(run).reason) == ("Stopped", "It ended before its first step.")
    assert browser.get(f"/api/v1/runs/{run.pk}/").json()["verdict"] is None


def test_a_waiting_run_shows_its_reason() -> None:
    run = a_run(state=RunState.QUEUED)
    run.wait_reason = "Second in line."
    assert (status_of(run).label, status_of(run).reason) == ("Waiting", "Second in line.")


@pytest.mark.parametrize("state", [RunState.FAILED, RunState.CRASHED, RunState.STALLED, RunState.LOST])
def test_a_state_that_needs_attention_comes_before_the_verdict(state: RunState) -> None:
    run = a_run()
    report(run, *[0.9] * 30)
    assert status_of(run).key == "neutral"  # flat
    run.state, run.state_reason = state, "The disk is full."
    assert (status_of(run).label, status_of(run).reason) == (state.capitalize(), "The disk is full.")


def test_regimes_are_those_of_the_diagnosed_steps(recorded: RecordedRun, browser: Client) -> None:
    recorded.take_steps(15)  # the builder diagnoses every fifth step, around 14 nats and 0.5
    recorded.deliver()
    found = regimes_of(recorded.run, "thought")
    assert (found.steps, found.regimes) == ([5, 10, 15], ["diverse"] * 3)
    answer = browser.get(f"/api/v1/runs/{recorded.run.pk}/regimes?per=thought").json()
    assert answer["regimes"] == ["diverse"] * 3
    assert answer["borders"]["readings"] == 2
    assert browser.get(f"/api/v1/runs/{recorded.run.pk}/regimes?per=token").json()["steps"] == []
    assert browser.get(f"/api/v1/runs/{recorded.run.pk}/regimes?per=word").status_code == 400
