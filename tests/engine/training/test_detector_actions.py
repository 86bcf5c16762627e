"""What follows an alert in a real run: a checkpoint, a pause that is like a user's, an end; and what a step leaves."""

from __future__ import annotations

import json
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from engine.__main__ import main
from engine.config import RunConfig
from engine.training import checkpoint_folder
from engine.training.control import Control
from engine.training.session import EXIT_DONE, train
from engine.verdict.recorded import recorded_verdict
from tests.engine.models import save_small_model
from tests.engine.training.test_runs import events_of, run_config, steps_of


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_small_model(tmp_path_factory.mktemp("model"))


def config_with(model: Path, action: str, **changes: Any) -> RunConfig:
    """Four steps, and a rule that speaks at the second: every step has turns."""
    always = {"name": "always", "kind": "above", "metric": "rollout/turns", "limit": 0.0, "steps": 2, "action": action}
    quiet = {"every": 0, "at_start": False, "final_episodes": 4}
    base = {"detectors": {"rules": [always]}, "checkpoint": {"every": 0}, "evaluation": quiet}
    return run_config(model, **{**base, **changes})


def test_a_rule_can_save_a_checkpoint_at_once(model: Path, tmp_path: Path) -> None:
    assert train(config_with(model, "checkpoint"), tmp_path) == EXIT_DONE
    events = events_of(tmp_path)
    [alert] = [event for event in events if event.kind == "alert_raised"]
    saved = [(event.step, event.reason) for event in events if event.kind == "checkpoint_saved"]
    assert (alert.step, alert.action) == (2, "checkpoint")
    assert saved == [(2, "alert"), (4, "final")]
    assert checkpoint_folder.is_valid(tmp_path / "checkpoints/step_2")
    kept = json.loads((tmp_path / "checkpoints/step_2/progress.json").read_text())
    assert kept["detectors"]["rules"]["always"]["firing"] is True


def test_a_rule_can_end_the_run_with_a_last_checkpoint_and_evaluation(model: Path, tmp_path: Path) -> None:
    assert train(config_with(model, "stop"), tmp_path) == EXIT_DONE
    events = events_of(tmp_path)
    assert (events[-1].kind, events[-1].step, events[-1].outcome) == ("run_finished", 2, "collapsed")
    assert events[-1].reason.startswith("always: ")
    assert events[-1].rule == "always"
    verdict = recorded_verdict(tmp_path / "events.jsonl")
    assert verdict is not None
    assert (verdict.ended, verdict.ended_by) == (True, "always")
    assert [event.final for event in events if event.kind == "evaluation_completed"] == [True]
    assert checkpoint_folder.is_valid(tmp_path / "checkpoints/step_2")


def test_a_rule_can_pause_the_run_until_it_is_resumed_as_a_user_pauses_it(model: Path, tmp_path: Path) -> None:
    seen: list[dict[str, Any]] = []

    def resume() -> None:
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            if (tmp_path / "control.json").exists() and "paused" in _phases(tmp_path):
                seen.append(json.loads((tmp_path / "control.json").read_text()))
                break
            time.sleep(0.05)
        (tmp_path / "control.json").write_text(json.dumps({"request": "run", "epoch": 0}))

    user = threading.Thread(target=resume)
    user.start()
    assert train(config_with(model, "pause"), tmp_path) == EXIT_DONE
    user.join()
    assert seen == [{"request": "pause", "checkpoint": 0, "epoch": 0}]
    assert sorted(steps_of(tmp_path)) == [1, 2, 3, 4]
    paused = [event.step for event in events_of(tmp_path) if getattr(event, "phase", "") == "paused"]
    assert paused == [2]


def _phases(directory: Path) -> str:
    return (directory / "events.jsonl").read_text()


@pytest.mark.parametrize("asked", ["stop", "pause"])
def test_an_alert_does_not_take_back_what_a_user_asked(tmp_path: Path, asked: str) -> None:
    control = Control(tmp_path / "control.json", epoch=2)
    written = json.dumps({"request": asked, "checkpoint": 3, "epoch": 2})
    (tmp_path / "control.json").write_text(written)
    control.request_pause()
    assert (tmp_path / "control.json").read_text() == written
    assert control.request == asked


def test_a_pause_keeps_the_count_of_checkpoints_asked_for(tmp_path: Path) -> None:
    (tmp_path / "control.json").write_text(json.dumps({"request": "run", "checkpoint": 3, "epoch": 2}))
    control = Control(tmp_path / "control.json", epoch=2)
    control.request_pause()
    assert json.loads((tmp_path / "control.json").read_text()) == {"request": "pause", "checkpoint": 3, "epoch": 2}
    assert control.paused


def test_diagnosed_steps_have_templates_and_counts_and_decomposed_ones_gradients(model: Path, tmp_path: Path) -> None:
    diagnostics = {"every": 2, "reasonings": 4, "prompts": 3, "gradients_every": 3, "gradient_buckets": 2}
    train(config_with(model, "notify", diagnostics=diagnostics), tmp_path)
    steps = {event.step: event.metrics for event in events_of(tmp_path) if event.kind == "step_completed"}
    assert [step for step, metrics in steps.items() if "collapse/template_share" in metrics] == [1, 3]
    assert sorted(path.name for path in (tmp_path / "templates").iterdir()) == ["step_1.json", "step_3.json"]
    assert steps[1]["collapse/first_turns"] == 8.0
    assert [step for step, metrics in steps.items() if "gradient/all/entropy" in metrics] == [1, 4]
    assert steps[4]["gradient/bucket_1/groups"] == 2.0
    assert steps[4]["time/gradients"] > 0


def test_decomposing_gradients_changes_nothing_of_the_run(model: Path, tmp_path: Path) -> None:
    train(config_with(model, "notify"), tmp_path / "without")
    train(config_with(model, "notify", diagnostics={"gradients_every": 1}), tmp_path / "with")
    plain, probed = (steps_of(tmp_path / name) for name in ("without", "with"))
    for step, metrics in plain.items():
        assert metrics["policy/entropy"] == probed[step]["policy/entropy"]
        assert metrics["reward/mean"] == probed[step]["reward/mean"]
        assert metrics["optim/grad_norm"] == probed[step]["optim/grad_norm"]


@pytest.mark.parametrize("form", ["first_turn", "trajectory"])
def test_an_interrupted_run_smooths_on_as_if_it_had_not_been(tmp_path: Path, form: str) -> None:
    """On the model that ships: an untrained one closes no thought, so it has none to score."""
    wanted = {"every": 1, "reasonings": 6, "prompts": 3, "form": form}
    changes: dict[str, Any] = {"diagnostics": wanted, "steps": 3, "checkpoint": {"every": 2}}
    lake = [{"kind": "frozen_lake", "max_turns": 2}]
    config = config_with(Path("tiny"), "notify", **changes, environments=lake)
    train(config, tmp_path / "whole")
    train(config.model_copy(update={"steps": 2}), tmp_path / "parts")
    train(config, tmp_path / "parts", resume=True)
    whole, parts = steps_of(tmp_path / "whole"), steps_of(tmp_path / "parts")
    assert whole[3]["collapse/mi_zscore_ema"] == parts[3]["collapse/mi_zscore_ema"]
    assert whole == parts
    columns = {metrics["collapse/prompts"] for metrics in whole.values()}
    assert columns == {3.0} if form == "first_turn" else all(3 < count <= 6 for count in columns)


def rows_of(printed: str) -> dict[str, dict[str, float]]:
    """A printed table by bucket and column."""
    header, *rows = [line.split() for line in printed.splitlines()[1:]]
    return {row[0]: dict(zip(header[1:], map(float, row[1:]), strict=True)) for row in rows}


@pytest.mark.slow
@pytest.mark.parametrize("algorithm", ["grpo", "ppo"])
def test_probe_decomposes_an_old_checkpoint_and_writes_nothing(
    model: Path, tmp_path: Path, algorithm: str, capsys: pytest.CaptureFixture[str]
) -> None:
    train(config_with(model, "checkpoint", algorithm={"type": algorithm}), tmp_path)
    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")}
    assert main(["probe", str(tmp_path), "--checkpoint", "step_2"]) == 0
    said = capsys.readouterr().out
    assert said.startswith("step_2, 4 groups")
    assert "regularizer_share" in said and "bucket_4" in said
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")} == before
    with_a_pull = ["--set", "diagnostics.gradient_buckets=2", "--set", "loss.kl_coefficient=0.1"]
    assert main(["probe", str(tmp_path), "--checkpoint", "step_2", *with_a_pull]) == 0
    otherwise = rows_of(capsys.readouterr().out)
    assert list(otherwise) == ["bucket_1", "bucket_2", "all"]
    assert otherwise["all"]["kl"] > 0 == rows_of(said)["all"]["kl"]
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")} == before
    assert main(["probe", str(tmp_path), "--checkpoint", "../step_2"]) == 1
    assert "step_2, step_4" in capsys.readouterr().err
    assert main(["probe", str(tmp_path / "nowhere")]) == 1
    assert "has no config.json" in capsys.readouterr().err
