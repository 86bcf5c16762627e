"""Recorded runs: which events count after a resume, and `python -m engine assess`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from engine.__main__ import main
from engine.config import RunConfig
from engine.events import EVENT
from engine.verdict.assessor import Settings
from engine.verdict.recorded import assessor_after, recorded_verdict
from engine.verdict.types import Verdict

CONFIG = RunConfig.model_validate({"environments": [{"tag": "Lake"}], "steps": 60})


class Recorder:
    """Writes the events of a run as an engine does."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        directory.mkdir()
        (directory / "config.json").write_text(CONFIG.model_dump_json())
        self.events = directory / "events.jsonl"
        self.seq, self.step, self.attempt = 0, 0, 1
        self.start(None)

    def emit(self, kind: str, **fields: Any) -> None:
        self.seq += 1
        head = {"kind": kind, "seq": self.seq, "time": 0.0, "attempt": self.attempt, "epoch": 0, "step": self.step}
        with self.events.open("a") as file:
            file.write(EVENT.validate_python({**head, **fields}).model_dump_json() + "\n")

    def start(self, resumed_from: int | None) -> None:
        self.step = resumed_from or 0
        values = {"pid": 1, "device": "cpu", "model": "tiny", "parameters": 1}
        self.emit("run_started", total_steps=CONFIG.steps, resumed_from=resumed_from, **values)

    def take(self, *successes: float) -> None:
        for success in successes:
            self.step += 1
            metrics = {"rollout/success": success, "reward/within_group_std": 0.4, "time/step": 1.0}
            self.emit("step_completed", metrics=metrics, tokens=0, seconds=0.0)

    def alert(self) -> None:
        self.emit("alert_raised", rule="low", severity="critical", message="m", metric="policy/entropy", value=0.1)

    def evaluate(self, success: float, *, final: bool = False) -> None:
        counts = {"episodes": 100, "successes": round(100 * success), "first_seed": 1, "temperature": 1.0}
        interval = {"success": success, "low": success - 0.1, "high": success + 0.1, "mean_return": success}
        self.emit("evaluation_completed", environment="Lake", seconds=1.0, final=final, **counts, **interval)

    def verdict(self) -> Verdict:
        found = assessor_after(self.events, Settings.of(CONFIG)).verdict()
        assert found is not None
        return found


@pytest.fixture
def run(tmp_path: Path) -> Recorder:
    return Recorder(tmp_path / "run")


def test_steps_alerts_and_evaluations_above_the_checkpoint_no_longer_count(run: Recorder) -> None:
    run.take(*[0.4] * 20, *[0.9] * 20)
    run.alert()
    run.evaluate(0.9)
    run.evaluate(0.95, final=True)
    assert (run.verdict().label, run.verdict().evidence[0].best) == ("at_risk", 0.9)
    run.attempt = 2
    run.start(20)
    run.take(*[0.4] * 10)
    verdict = run.verdict()
    # the steps at 0.9, their alert and their evaluations are gone
    assert (verdict.label, verdict.step, verdict.since) == ("flat", 30, 20)
    assert [row.metric for row in verdict.evidence] == ["rollout/success", "reward/within_group_std"]
    assert verdict.evidence[0].best == 0.4


def test_an_attempt_without_a_checkpoint_starts_over(run: Recorder) -> None:
    run.take(*[0.9] * 20)
    run.attempt = 2
    run.start(None)
    run.take(0.1)
    assert (run.verdict().label, run.verdict().evidence[0].best) == ("too_early", 0.1)


def test_a_run_that_was_stopped_and_resumed_is_not_over(run: Recorder) -> None:
    run.take(0.4, 0.4, 0.4)
    run.emit("run_finished", outcome="stopped", reason="Stopped on request.")
    assert (run.verdict().label, run.verdict().ended) == ("too_short", True)
    run.attempt = 2
    run.start(3)
    assert (run.verdict().label, run.verdict().ended) == ("too_early", False)


def test_damaged_lines_are_passed_over(run: Recorder) -> None:
    run.take(*[0.2] * 10)
    with run.events.open("a") as file:
        file.write('{"kind":"step_completed","seq":"?"}\n')
    run.take(*[0.5] * 10)
    assert run.verdict().label == "learning"


def test_the_command_prints_the_verdict_as_a_table(run: Recorder, capsys: pytest.CaptureFixture[str]) -> None:
    run.take(*[0.2] * 10, *[0.5] * 12)
    assert main(["assess", str(run.directory)]) == 0
    said = capsys.readouterr().out
    assert said.startswith("Learning since step 20, assessed after step 22 by rules 4\n\nTraining success rose by 0.30")
    assert "Training success         0.20   0.50  0.50  collapsing below 0.25, half of its best" in said


def test_the_command_prints_the_whole_verdict_as_json(run: Recorder, capsys: pytest.CaptureFixture[str]) -> None:
    run.take(*[0.2] * 10, *[0.5] * 10)
    assert main(["assess", str(run.directory), "--json"]) == 0
    assert Verdict.model_validate(json.loads(capsys.readouterr().out)) == run.verdict()


def test_the_command_says_what_older_rules_recorded(run: Recorder, capsys: pytest.CaptureFixture[str]) -> None:
    run.take(*[0.2] * 10, *[0.5] * 10)
    older = run.verdict().model_copy(update={"label": "flat", "title": "Flat", "rules_version": 0})
    run.emit("verdict_updated", verdict=older)
    assert recorded_verdict(run.events) == older
    main(["assess", str(run.directory)])
    assert "recorded by the run: Flat, after step 20 by rules 0" in capsys.readouterr().out


def test_the_command_refuses_what_is_no_run(tmp_path: Path, run: Recorder, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["assess", str(tmp_path)]) == 1
    assert "config.json" in capsys.readouterr().err
    assert main(["assess", str(run.directory)]) == 1
    assert "has no steps" in capsys.readouterr().err
