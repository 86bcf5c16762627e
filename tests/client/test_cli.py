"""The command line against a served site: its output, its files and its exit status."""

from __future__ import annotations

import csv
import io
import json
import stat
from pathlib import Path
from typing import Any

import pytest

from starboard_client.cli import main
from tests.builders.recorded_run import RecordedRun
from tests.builders.runs import add_evaluation
from tests.webapp.runs.rows import a_run, report
from webapp.runs.models import Run
from webapp.runs.services import rename

HOSTILE = "\x1b[31mred\u202egnp"


def steps_of(file: Path) -> list[dict[str, Any]]:
    """Some events of other kinds have no row of their own, such as a verdict like the one before."""
    events = [json.loads(line) for line in file.read_text().splitlines()]
    return [event for event in events if event["kind"] == "step_completed"]


@pytest.fixture
def ended(shell: Path) -> RecordedRun:
    recorded = RecordedRun(steps=4)
    recorded.take_steps(4)
    recorded.finish()
    return recorded


def test_runs_are_listed_as_a_table_or_as_json(shell: Path, capsys: pytest.CaptureFixture[str]) -> None:
    report(run := a_run("calm"), 0.25)
    assert main(["runs", "list"]) == 0
    assert capsys.readouterr().out == f"{run.pk}\tcalm\tRunning\t1/60\t0.25\tDefault\n"
    assert main(["runs", "list", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)[0]["metrics"]["rollout/success"] == 0.25


def test_names_cannot_control_the_terminal(shell: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = a_run()
    rename(run, HOSTILE)
    (run.directory).mkdir(parents=True)
    (run.directory / "engine.log").write_text(f"{HOSTILE}\n")
    for command in (["list"], ["show", run.pk], ["logs", run.pk], ["compare", run.pk]):
        assert main(["runs", *command]) == 0
        out = capsys.readouterr().out
        assert "\x1b" not in out
        assert "\u202e" not in out


def test_a_toml_file_is_launched_with_changes(shell: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = shell / "config.toml"
    file.write_text('steps = 30\n[algorithm]\ntype = "rloo"\n')
    command = [
        "runs",
        "launch",
        str(file),
        "--set",
        "steps=5",
        "--set",
        "description=a try",
        "--tag",
        "a",
        "--tag",
        "b",
    ]
    assert main([*command, "--name", "five"]) == 0
    run = Run.objects.get(pk=capsys.readouterr().out.strip())
    assert (run.name, run.total_steps, run.config["algorithm"]["type"]) == ("five", 5, "rloo")
    assert run.config["description"] == "a try"
    assert sorted(run.tags.values_list("name", flat=True)) == ["a", "b"]


def test_a_json_file_and_a_preset_are_launched(shell: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = shell / "config.json"
    file.write_text('{"steps": 3}')
    assert main(["runs", "launch", str(file), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["config"]["steps"] == 3
    assert main(["runs", "launch", "--preset", "starter"]) == 0
    assert Run.objects.count() == 2


def test_an_invalid_configuration_exits_with_1_and_the_reason(shell: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["runs", "launch", "--preset", "starter", "--set", "steps=0"]) == 1
    assert "steps" in capsys.readouterr().err
    assert main(["runs", "launch", "/no/such.toml"]) == 1
    assert "cannot be read" in capsys.readouterr().err


def test_a_refused_token_exits_with_4(
    shell: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("STARBOARD_TOKEN", "sb_mistyped")
    assert main(["runs", "list"]) == 4
    assert "sb_mistyped" not in capsys.readouterr().err


def test_watching_exits_by_how_the_run_ended(ended: RecordedRun, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["runs", "watch", ended.run.pk, "--every", "0.01"]) == 0
    other = a_run("other")
    assert main(["runs", "watch", other.pk, "--every", "0.01", "--timeout", "0.05"]) == 3
    assert "The run goes on" in capsys.readouterr().err
    failed = RecordedRun(name="failed")
    failed.take_steps(2)
    failed.finish(rule="no_signal", reason="An alert rule ended it.")
    assert main(["runs", "watch", failed.run.pk, "--every", "0.01"]) == 5


def test_events_are_exported_line_by_line_and_metrics_as_csv(
    ended: RecordedRun, shell: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = shell / "events.jsonl"
    assert main(["runs", "export", ended.run.pk, "--format", "jsonl", "-o", str(file)]) == 0
    assert steps_of(file) == steps_of(ended.events)
    capsys.readouterr()
    assert main(["runs", "export", ended.run.pk, "--format", "csv"]) == 0
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert [row["step"] for row in rows] == ["1", "2", "3", "4"]
    assert float(rows[-1]["rollout/success"]) == ended.run.metrics["rollout/success"]


def test_a_comparison_has_only_settings_that_differ(shell: Path, capsys: pytest.CaptureFixture[str]) -> None:
    one, other = a_run("one", steps=10), a_run("other", steps=20)
    report(one, 0.25)
    report(other, 0.5)
    assert main(["runs", "compare", one.pk, other.pk, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["settings"] == {"steps": [10, 20]}
    assert found["metrics"] == {"rollout/success": [0.25, 0.5]}
    assert main(["runs", "compare", one.pk, other.pk, "--metrics", "rollout/success"]) == 0
    assert "rollout/success\t0.25\t0.5\n" in capsys.readouterr().out


def test_a_comparison_has_the_newest_held_out_success_of_each_run(
    shell: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    one, other = a_run("one", steps=10), a_run("other", steps=10)
    add_evaluation(one, successes=64, step=0, final=False)
    add_evaluation(one, successes=128, step=10)
    assert main(["runs", "compare", one.pk, other.pk]) == 0
    # Wilson's interval of 128 of 256: 0.5 +- 0.061
    assert "held-out success, Bandit\t0.500 [0.439, 0.561] at step 10\t\n" in capsys.readouterr().out
    assert main(["runs", "compare", one.pk, other.pk, "--json"]) == 0
    newest, none = json.loads(capsys.readouterr().out)["held_out"]["Bandit"]
    assert (newest["step"], newest["success"], none) == (10, 0.5, None)


def test_a_log_is_followed_to_the_end_of_the_run(ended: RecordedRun, capsys: pytest.CaptureFixture[str]) -> None:
    text = "".join(f"line {number}\n" for number in range(9))
    (ended.run.directory / "engine.log").write_text(text)
    assert main(["runs", "logs", ended.run.pk, "--follow", "--every", "0.01"]) == 0
    assert capsys.readouterr().out == text


def test_a_login_is_checked_and_saved_for_this_user_only(
    shell: Path, origin: str, token: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("STARBOARD_URL")
    monkeypatch.delenv("STARBOARD_TOKEN")
    saved = shell / "config/starboard/config.toml"
    monkeypatch.setattr("sys.stdin", io.StringIO("sb_mistyped\n"))
    assert main(["login", "--url", origin]) == 4
    assert not saved.exists()
    monkeypatch.setattr("sys.stdin", io.StringIO(f"{token}\n"))
    assert main(["login", "--url", f"{origin}/"]) == 0
    assert stat.S_IMODE(saved.stat().st_mode) == 0o600
    assert token not in capsys.readouterr().out
    assert main(["presets"]) == 0
    assert "starter\t" in capsys.readouterr().out
    monkeypatch.setenv("STARBOARD_URL", "http://127.0.0.1:1")  # the saved token belongs to another address
    assert main(["presets"]) == 1
    assert "no token for http://127.0.0.1:1" in capsys.readouterr().err
