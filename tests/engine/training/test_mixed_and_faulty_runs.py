"""Whole runs over several environments, under every context, and with environments that fail now and then."""

from __future__ import annotations

import json
import math
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest

from engine.config import build_config
from engine.environments.registry import ENVIRONMENTS
from engine.errors import EnvironmentFault
from engine.event_lines import parse_event
from engine.rollout.trajectory_files import read_records
from engine.rollout.types import Trajectory
from engine.training.evaluator import Evaluation
from engine.training.seen_problems import SeenProblems
from engine.training.session import EXIT_DONE, EXIT_FAILED, train
from tests.engine.rollout.builders import lake_config, say, window
from tests.engine.talker import save_talking_model

LAKE = {"kind": "frozen_lake", "parameters": {"size": 3}, "max_turns": 3, "max_response_tokens": 12}


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_talking_model(tmp_path_factory.mktemp("talker"))


def settings(model: Path, **changes: Any) -> dict[str, Any]:
    return {
        "steps": 1,
        "threads": 1,
        "model": {"path": str(model)},
        "environments": [LAKE],
        "rollout": {"groups": 4, "group_size": 4},
        "diagnostics": {"every": 1, "reasonings": 8, "prompts": 3},
        "evaluation": {"every": 0, "at_start": False, "final_episodes": 6},
        "checkpoint": {"every": 0},
        **changes,
    }


def events_of(directory: Path, kind: str) -> list[Any]:
    events = [parse_event(line) for line in (directory / "events.jsonl").read_bytes().splitlines()]
    return [event for event in events if event.kind == kind]


def records_of(directory: Path, split: str) -> list[dict[str, Any]]:
    return [record for _, _, record in read_records(directory / f"trajectories/{split}/step_1.jsonl.zst")]


def test_two_kinds_of_environment_train_together_with_groups_and_metrics_of_their_own(
    model: Path, tmp_path: Path
) -> None:
    lake = {**LAKE, "tag": "lake", "groups": 3}
    arms = {"kind": "bandit", "tag": "arms", "max_response_tokens": 12}
    assert train(build_config(settings(model, environments=[lake, arms])), tmp_path) == EXIT_DONE
    (step,) = events_of(tmp_path, "step_completed")
    trained = records_of(tmp_path, "train")
    assert [r["environment"] for r in trained] == ["lake"] * 12 + ["arms"] * 4
    assert {r["kind"] for r in trained[12:]} == {"bandit"}
    for tag in ("lake", "arms"):
        own = [r for r in trained if r["environment"] == tag]
        assert step.metrics[f"env/{tag}/success"] == fmean(r["success"] for r in own)
        assert step.metrics[f"env/{tag}/return"] == pytest.approx(fmean(r["return"] for r in own))
        assert step.metrics[f"env/{tag}/turns"] == fmean(len(r["turns"]) for r in own)
    evaluations = {event.environment: event for event in events_of(tmp_path, "evaluation_completed")}
    held_out = records_of(tmp_path, "validation")
    for tag in ("lake", "arms"):
        own = [r for r in held_out if r["environment"] == tag]
        assert evaluations[tag].episodes == len(own) == 6
        assert evaluations[tag].successes == sum(r["success"] for r in own)
        assert evaluations[tag].mean_return == pytest.approx(fmean(r["return"] for r in own))


@pytest.mark.parametrize(
    ("context", "turns"), [("full", 0), ("last_k_turns", 1), ("last_k_turns", 2), ("single_turn_summary", 2)]
)
def test_first_turns_are_diagnosed_under_every_context(model: Path, tmp_path: Path, context: str, turns: int) -> None:
    rollout = {"groups": 4, "group_size": 4, "context": window(context, turns)}
    assert train(build_config(settings(model, rollout=rollout)), tmp_path) == EXIT_DONE
    (step,) = events_of(tmp_path, "step_completed")
    assert step.metrics["collapse/prompts"] == 3
    assert step.metrics["collapse/samples"] == 8
    # a first turn is the same under every window, so the same thoughts are scored under the same prompts
    full = tmp_path / "full"
    assert train(build_config(settings(model)), full) == EXIT_DONE
    (other,) = events_of(full, "step_completed")
    for name in ("collapse/conditional_entropy", "collapse/mi_sequence"):
        assert step.metrics[name] == pytest.approx(other.metrics[name], abs=1e-4)


@pytest.mark.parametrize("lake", ["BreakingLake", "UnpayableLake"])
def test_a_run_goes_on_without_the_trajectories_that_an_environment_broke(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lake: str
) -> None:
    monkeypatch.setitem(ENVIRONMENTS, "frozen_lake", f"tests.engine.training.faulty:{lake}")
    environments = [{**LAKE, "parameters": {"size": 3, "frozen_probability": 1.0}}]
    # held-out members are all number 0, and that one always fails: no evaluation can be had
    assert train(build_config(settings(model, environments=environments)), tmp_path) == EXIT_FAILED
    (step,) = events_of(tmp_path, "step_completed")
    records = records_of(tmp_path, "train")
    broken = [r for r in records if r["fault"]]
    sound = [r for r in records if not r["fault"]]
    assert 0 < len(broken) <= 8
    assert step.metrics["rollout/fault_rate"] == len(broken) / 16
    assert step.metrics["reward/mean"] == pytest.approx(fmean(r["score"] for r in sound))
    assert step.metrics["rollout/success"] == fmean(r["success"] for r in sound)
    assert all(math.isfinite(value) for value in step.metrics.values())
    assert all(r["advantage"] is None and r["kept"] is None for r in broken)
    assert all(r["advantage"] is not None for r in sound)
    assert events_of(tmp_path, "run_failed")[0].error == "EnvironmentFault"


def test_a_step_whose_responses_all_miss_the_format_trains_no_preference(tmp_path: Path) -> None:
    from tests.engine.models import save_small_model

    model = save_small_model(tmp_path / "untrained")
    config = settings(model, loss={"entropy_coefficient": 0.0}, optimizer={"weight_decay": 0.0})
    assert train(build_config(config), tmp_path / "run") == EXIT_DONE
    (step,) = events_of(tmp_path / "run", "step_completed")
    assert step.metrics["rollout/unparsed_groups"] == 1
    assert step.metrics["reward/penalty"] == pytest.approx(-0.3)
    assert step.metrics["optim/grad_norm"] == 0
    assert {r["advantage"] for r in records_of(tmp_path / "run", "train")} == {0.0}


def test_a_context_too_short_for_any_prompt_fails_the_run_with_what_to_do(model: Path, tmp_path: Path) -> None:
    config = settings(model, rollout={"groups": 4, "group_size": 4, "max_context_tokens": 64})
    assert train(build_config(config), tmp_path) == EXIT_FAILED
    (failure,) = events_of(tmp_path, "run_failed")
    assert failure.error == "ConfigError"
    assert "No first prompt of 'FrozenLake' leaves room" in failure.message
    assert failure.remedy.startswith("Raise rollout.max_context_tokens to ")


def test_a_step_without_an_outcome_is_skipped_and_says_why(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # one lake always breaks and the other's prompt never fits, so neither error is everybody's
    monkeypatch.setitem(ENVIRONMENTS, "bandit", "tests.engine.training.faulty:FaultyLake")
    broken = {**LAKE, "kind": "bandit", "tag": "broken", "parameters": {"size": 3}}
    large = {**LAKE, "tag": "large", "parameters": {"size": 12}}
    rollout = {"groups": 4, "group_size": 4, "max_context_tokens": 180}
    changes = {"environments": [broken, large], "rollout": rollout, "diagnostics": {"every": 1, "gradients_every": 1}}
    train(build_config(settings(model, **changes)), tmp_path)
    (step,) = events_of(tmp_path, "step_completed")
    assert step.skipped.startswith("No trajectory can be trained on")
    assert (step.metrics["rollout/fault_rate"], step.metrics["rollout/no_room_rate"]) == (0.5, 0.5)
    assert "reward/mean" not in step.metrics
    assert step.metrics["filter/kept_groups"] == 0


def test_a_trajectory_never_passes_the_positions_that_the_model_has(tmp_path: Path) -> None:
    directory = save_talking_model(tmp_path / "model")
    changed = json.loads((directory / "config.json").read_text())
    (directory / "config.json").write_text(json.dumps({**changed, "max_position_embeddings": 160}))
    assert train(build_config(settings(directory)), tmp_path / "run") == EXIT_DONE
    (step,) = events_of(tmp_path / "run", "step_completed")
    records = records_of(tmp_path / "run", "train")
    assert max(len(r["tokens"]["ids"]) for r in records) <= 160
    assert step.metrics["rollout/context_full_rate"] == fmean(r["stop"] == "context_full" for r in records) > 0


def test_an_evaluation_does_not_count_what_had_no_outcome_as_failures() -> None:
    played = say(lake_config(rollout={"groups": 2, "group_size": 2}), ["so it is"])
    for index, trajectory in enumerate(played):
        trajectory.success = index < 2
    played[3].fault = "the ice broke"
    unasked = Trajectory(environment="", kind="", group=4, member=0, seed=4)  # its first prompt left no room
    found = Evaluation(
        environment="lake",
        trajectories=[*played, unasked],
        first_seed=1,
        temperature=1.0,
        seconds=1.0,
        seen=SeenProblems(),
    ).event(0, final=False)
    assert (found.episodes, found.successes, found.faults) == (3, 2, 2)
    assert found.success == pytest.approx(2 / 3)


def test_an_evaluation_without_an_outcome_reports_how_many_episodes_failed_and_how_many_had_no_room() -> None:
    broken = [Trajectory(environment="lake", kind="", group=0, member=0, seed=1, fault="the ice broke")] * 2
    unasked = [Trajectory(environment="lake", kind="", group=0, member=0, seed=3)] * 3
    found = Evaluation(
        environment="lake",
        trajectories=[*broken, *unasked],
        first_seed=1,
        temperature=1.0,
        seconds=1.0,
        seen=SeenProblems(),
    )
    with pytest.raises(EnvironmentFault, match=r"None of 5 held-out .* in 2 the environment failed, and 3 had no room"):
        found.event(0, final=False)
