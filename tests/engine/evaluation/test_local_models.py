"""Checkpoints and model directories: what the trainer measures, again and again the same, or a clear refusal."""

from __future__ import annotations

import dataclasses
import json
import shutil
from functools import lru_cache
from pathlib import Path
from typing import Any

import pytest

from engine.__main__ import main
from engine.config import build_config
from engine.evaluation.evaluation import Outcome, Plan, evaluate
from engine.evaluation.models import LocalModel
from engine.evaluation.results import Result
from engine.event_lines import parse_event
from engine.events import CheckpointEvaluated, EvaluationCompleted, ProblemsPlayed
from engine.rollout.trajectory_files import read_records
from engine.training.requested_evaluations import FOLDER
from engine.training.session import train
from tests.engine.evaluation.conftest import lake_config
from tests.engine.models import save_small_model

CONFIG: dict[str, Any] = {
    "steps": 2,
    "threads": 1,
    "environments": [
        {"kind": "frozen_lake", "tag": "Lake", "max_response_tokens": 10, "max_turns": 2},
        {"kind": "bandit", "tag": "Bandit", "max_response_tokens": 10},
    ],
    "rollout": {"groups": 2, "group_size": 2, "max_context_tokens": 512},
    "diagnostics": {"every": 0},
    "evaluation": {"every": 0, "at_start": False, "final_episodes": 6},
    "checkpoint": {"every": 1, "keep": 2},
}


@pytest.fixture(scope="session")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_small_model(tmp_path_factory.mktemp("small"))


@pytest.fixture(scope="session")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The run directory of a short run with the model that ships, which at times succeeds."""
    directory = tmp_path_factory.mktemp("run")
    assert train(build_config(CONFIG), directory) == 0
    return directory


def rows_in(out: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (out / "results.jsonl").read_text().splitlines()]


@lru_cache(maxsize=1)
def tiny() -> LocalModel:
    return LocalModel(lake_config(max_context_tokens=400), "tiny")


def play(**changes: Any) -> Outcome:
    """Six lakes with the model that ships."""
    config = lake_config(max_context_tokens=400)
    plan: dict[str, Any] = {"seeds": list(range(2_000, 2_006)), "samples": 1, "temperatures": [1.0], **changes}
    return evaluate(config, tiny(), Plan(**{"environments": config.environments, **plan}))


def timeless(results: list[Result]) -> list[Result]:
    return [dataclasses.replace(result, seconds=0.0) for result in results]


@pytest.mark.slow
def test_a_run_directory_is_evaluated_exactly_as_its_trainer_did_at_the_end(trained: Path, tmp_path: Path) -> None:
    assert main(["evaluate", str(trained), "--out", str(tmp_path / "out")]) == 0
    events = [parse_event(line) for line in (trained / "events.jsonl").read_bytes().splitlines()]
    recorded = [event for event in events if event.kind == "evaluation_completed" and event.final]
    summaries = json.loads((tmp_path / "out/summary.json").read_text())["summaries"]
    assert len(recorded) == len(summaries) == 2
    for event, summary in zip(recorded, summaries, strict=True):
        for name in ("environment", "episodes", "successes", "success", "mean_return", "temperature"):
            assert getattr(event, name) == summary[name], name
        assert (summary["low"], summary["high"]) == pytest.approx((event.low, event.high), abs=1e-12)
    records = [record for _, _, record in read_records(trained / "trajectories/validation/step_2.jsonl.zst")]
    assert len(records) == 12
    for record, row in zip(records, rows_in(tmp_path / "out"), strict=True):
        assert record["seed"] == row["problem_seed"]
        for name in ("environment", "success", "return", "stop"):
            assert record[name] == row[name], name
        assert row["turns"] == len(record["turns"])
        assert row["tokens"] == sum(record["tokens"]["sampled"])
        assert row["tokens"] + row["prompt_tokens"] == len(record["tokens"]["ids"])


@pytest.mark.slow
def test_a_checkpoint_is_named_by_its_own_directory_or_its_models(trained: Path, tmp_path: Path) -> None:
    config = str(trained / "config.json")
    for name, path in (("a", "step_2"), ("b", "step_2/model"), ("c", "step_1")):
        model = str(trained / "checkpoints" / path)
        assert main(["evaluate", config, "--model", model, "--out", str(tmp_path / name)]) == 0
    newest = [{**row, "seconds": 0} for row in rows_in(tmp_path / "a")]
    assert newest == [{**row, "seconds": 0} for row in rows_in(tmp_path / "b")]
    assert rows_in(tmp_path / "c")[0]["model"].endswith("step_1/model")


@pytest.mark.slow
def test_a_recorded_evaluation_of_the_last_step_has_the_numbers_of_the_trainers_own(
    trained: Path, tmp_path: Path
) -> None:
    run = tmp_path / "run"
    shutil.copytree(trained, run)
    assert main(["evaluate", str(run), "--model", str(run / "checkpoints/step_2"), "--record"]) == 0
    events = [parse_event(line) for line in (run / "events.jsonl").read_bytes().splitlines()]
    assert [event.seq for event in events] == list(range(1, len(events) + 1))
    own = [event for event in events if isinstance(event, EvaluationCompleted) and event.final]
    requested = [event for event in events if isinstance(event, CheckpointEvaluated)]
    stamps = {"seq", "time", "seconds", "kind", "final"}
    assert [one.model_dump(exclude=stamps) for one in requested] == [one.model_dump(exclude=stamps) for one in own]
    problems = [event for event in events if isinstance(event, ProblemsPlayed)]
    assert [(one.problems, one.solved) for one in problems if one.requested] == [
        (one.problems, one.solved) for one in problems if one.final
    ]
    assert not list((run / FOLDER).iterdir())


@pytest.mark.slow
def test_a_damaged_checkpoint_is_skipped_and_refused_when_named(
    trained: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = tmp_path / "run"
    shutil.copytree(trained, run)
    weights = run / "checkpoints/step_2/model/model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-1])
    assert main(["evaluate", str(run), "--episodes", "2", "--environment", "Bandit", "--out", str(tmp_path / "o")]) == 0
    assert rows_in(tmp_path / "o")[0]["model"].endswith("step_1/model")
    assert main(["evaluate", str(run), "--model", str(run / "checkpoints/step_2")]) == 1
    assert "is damaged" in capsys.readouterr().err
    shutil.rmtree(run / "checkpoints")
    assert main(["evaluate", str(run)]) == 1
    assert "has no valid checkpoint" in capsys.readouterr().err


def test_an_evaluation_repeats_itself() -> None:
    once, again = play(), play()
    assert timeless(once.results) == timeless(again.results)
    assert all(result.seconds > 0 for result in once.results)


def test_the_first_of_several_samples_equals_a_single_sample() -> None:
    one, many = play(), play(samples=2)
    assert timeless(many.results)[:6] == timeless(one.results)
    assert [result.sample for result in many.results] == [0] * 6 + [1] * 6
    tokens = [[result.tokens for result in many.results[start : start + 6]] for start in (0, 6)]
    assert tokens[0] != tokens[1]  # they are drawn again


def test_greedy_samples_of_a_deterministic_environment_are_equal() -> None:
    lake = lake_config().environments[0].model_copy(update={"parameters": {"success_rate": 1.0}})
    results = timeless(play(environments=[lake], samples=2, temperatures=[0.0]).results)
    assert results[:6] == [dataclasses.replace(result, sample=0) for result in results[6:]]
    assert {result.temperature for result in results} == {0.0}


def test_several_temperatures_are_summarised_separately() -> None:
    outcome = play(temperatures=[0.0, 1.0])
    assert [summary.temperature for summary in outcome.summaries] == [0.0, 1.0]
    assert [summary.episodes for summary in outcome.summaries] == [6, 6]


def test_the_models_own_context_limit_applies_and_is_noted(small: Path) -> None:
    config = lake_config(max_context_tokens=4096)  # the small model has 512 positions
    model = LocalModel(config, str(small))
    assert model.context_tokens == 512
    assert "Episodes end at 512 tokens, the model's own limit" in model.notes()[0]


def test_a_first_prompt_that_does_not_fit_has_no_score_and_no_exit_status_0(
    small: Path, lake: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["--model", str(small), "--episodes", "3", "--set", "rollout.max_context_tokens=60"]
    assert main(["evaluate", str(lake), *arguments, "--out", str(tmp_path / "out")]) == 1
    printed = capsys.readouterr()
    assert "3 before it, not scored" in printed.out
    assert "3 of 3 episodes were not scored" in printed.err
    assert [(row["stop"], row["success"], row["return"]) for row in rows_in(tmp_path / "out")] == [
        ("context_full", None, None)
    ] * 3
    summary = json.loads((tmp_path / "out/summary.json").read_text())
    assert summary["complete"] is False and summary["summaries"][0]["success"] is None


def test_an_environment_that_raises_costs_its_own_episodes_and_names_itself(
    small: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from engine.environments.registry import ENVIRONMENTS

    monkeypatch.setitem(ENVIRONMENTS, "frozen_lake", "tests.engine.training.faulty:FaultyLake")
    config = tmp_path / "config.json"
    config.write_text(json.dumps(CONFIG))
    out = tmp_path / "out"
    assert main(["evaluate", str(config), "--model", str(small), "--episodes", "2", "--out", str(out)]) == 1
    rows = rows_in(out)
    assert [row["stop"] for row in rows[:2]] == ["fault", "fault"]
    assert all(row["success"] is not None for row in rows[2:]) and len(rows) == 4
    assert "the ice broke" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("model", "said"), [("./no/such/model", "does not exist"), ("EMPTY", "has no config.json"), ("BAD", "could not be")]
)
def test_a_directory_without_a_model_is_refused(
    model: str, said: str, lake: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "EMPTY").mkdir()
    (tmp_path / "BAD").mkdir()
    (tmp_path / "BAD/config.json").write_text("{}")
    chosen = model if model.startswith(".") else str(tmp_path / model)
    assert main(["evaluate", str(lake), "--model", chosen]) == 1
    assert said in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--samples", "0"], "--samples is 0"),
        (["--episodes", "-3"], "--episodes is -3"),
        (["--temperature", "-1"], "--temperature is -1.0"),
        (["--temperature", "0", "nan"], "--temperature is nan"),
        (["--environment", "Pond"], "Its tags are: FrozenLake"),
        (["--record", "--samples", "2"], "--record takes one sample"),
    ],
)
def test_an_invalid_plan_is_refused_before_a_model_loads(
    arguments: list[str], said: str, lake: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["evaluate", str(lake), "--model", "./none", *arguments]) in (1, 2)
    assert said in capsys.readouterr().err


def test_a_budget_that_solves_no_problem_is_refused_instead_of_scored_0(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = tmp_path / "config.toml"  # two boxes take two pushes
    config.write_text("[[environments]]\nkind = 'sokoban'\nmax_actions = 1\nparameters = {boxes = 2}")
    assert main(["evaluate", str(config), "--model", "./none"]) in (1, 2)
    assert "cannot be solved within its budget" in capsys.readouterr().err


def test_a_directory_that_is_not_a_run_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["evaluate", str(tmp_path)]) == 2
    assert "is not a run directory" in capsys.readouterr().err
