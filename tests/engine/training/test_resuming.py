"""What a run that goes on must have in common with what wrote its checkpoint, and what it need not."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch

from engine.config import build_config
from engine.config.live import LIVE_FIELDS, with_changes
from engine.errors import CheckpointError
from engine.forking import begun_at
from engine.training.checkpoint_settings import FILE, checkpoint_settings, require_same_settings, weight_settings
from engine.training.session import EXIT_DONE, EXIT_FAILED, train
from tests.engine.models import save_small_model
from tests.engine.training.test_runs import events_of, run_config, steps_of

LAKE = {"kind": "frozen_lake", "max_response_tokens": 10, "max_turns": 2}
QUIET = {"every": 0, "at_start": False, "final_episodes": 1}


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_small_model(tmp_path_factory.mktemp("model"))


@pytest.fixture(scope="module")
def run(model: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One step of one environment, which nothing below goes on from."""
    directory = tmp_path_factory.mktemp("run")
    assert train(run_config(model, steps=1, evaluation=QUIET), directory) == EXIT_DONE
    return directory


@pytest.mark.parametrize(
    ("changes", "difference"),
    [
        ({"model": {"path": "tiny"}}, "and is now tiny"),
        ({"seed": 8}, "seed was 1 and is now 8"),
        ({"rollout": {"groups": 4, "group_size": 2, "think": False}}, "rollout.think was True and is now False"),
        (
            {"rollout": {"groups": 4, "group_size": 2, "context": {"type": "last_k_turns", "turns": 2}}},
            "rollout.context.type was full and is now last_k_turns",
        ),
        ({"environments": [{**LAKE, "max_turns": 3}]}, "environments.0.max_turns was 2 and is now 3"),
        (
            {"environments": [{**LAKE, "parameters": {"size": 3}}]},
            "environments.0.parameters.size was 4 and is now 3",
        ),
        ({"environments": [LAKE, {**LAKE, "tag": "other"}]}, "environments was 1 and is now 2"),
        ({"environments": [{**LAKE, "kind": "bandit", "max_turns": 1}]}, "environments.0.kind was frozen_lake"),
    ],
    ids=["model", "seed", "think", "context", "budget", "parameter", "one more", "kind"],
)
def test_another_configuration_is_refused_by_what_differs(
    run: Path, model: Path, changes: dict[str, Any], difference: str
) -> None:
    before = (run / "config.json").read_text()
    assert train(run_config(model, **{"evaluation": QUIET, **changes}), run, resume=True) == EXIT_FAILED
    failure = events_of(run)[-1]
    assert failure.error == "CheckpointError" and difference in failure.message
    assert "the run started with" in failure.remedy and "fork" in failure.remedy
    assert (run / "config.json").read_text() == before  # it still says what the checkpoint is of


def test_length_rules_and_all_that_may_change_while_it_goes_on_are_no_other_configuration(
    model: Path, tmp_path: Path
) -> None:
    assert train(run_config(model, steps=1, evaluation=QUIET), tmp_path) == EXIT_DONE
    spelled_out = {**LAKE, "parameters": {"size": 4}}  # what is the default is no difference
    further = run_config(
        model, steps=2, evaluation=QUIET, environments=[spelled_out], optimizer={"learning_rate": 1e-5}, threads=1,
        filter={"type": "top_p", "value": 0.5}, loss={"entropy_coefficient": 0.1}, detectors={"rules": []},
    )  # fmt: skip
    assert train(further, tmp_path, resume=True) == EXIT_DONE
    assert sorted(steps_of(tmp_path)) == [1, 2]


def test_no_live_setting_is_compared() -> None:
    config = build_config({})
    changed = with_changes(config, {"optimizer.learning_rate": 1e-5, "filter": {"type": "none"}, "detectors.rules": []})
    assert checkpoint_settings(changed) == checkpoint_settings(config)
    assert not checkpoint_settings(config).keys() & set(LIVE_FIELDS)


def test_settings_that_a_checkpoint_does_not_have_are_not_compared(tmp_path: Path) -> None:
    now = checkpoint_settings(build_config({"seed": 3}))
    require_same_settings(tmp_path, now)  # the first versions wrote nothing
    (tmp_path / FILE).write_text(json.dumps({"algorithm.type": "grpo", "model.lora.rank": 0}))
    require_same_settings(tmp_path, now)


def test_a_fork_is_identified_by_the_run_it_started_from_and_not_by_its_path(tmp_path: Path) -> None:
    config = build_config({"model": {"path": "tiny", "start_from": {"run": "parent", "step": 2}}})
    written = tmp_path / FILE
    written.write_text(json.dumps(checkpoint_settings(begun_at(config, Path("/first/start/parent/step_2")))))
    require_same_settings(tmp_path, checkpoint_settings(begun_at(config, Path("/moved/start/parent/step_2"))))
    other = build_config({"model": {"path": "tiny", "start_from": {"run": "parent", "step": 4}}})
    with pytest.raises(CheckpointError, match=r"model.start_from was step 2 of parent and is now step 4 of parent"):
        require_same_settings(tmp_path, checkpoint_settings(begun_at(other, Path("/first/start/parent/step_4"))))


def test_a_folder_may_be_named_in_another_way(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / FILE).write_text(json.dumps(weight_settings(build_config({"model": {"path": "./models/b"}}))))
    require_same_settings(tmp_path, weight_settings(build_config({"model": {"path": str(tmp_path / "models/b")}})))
    with pytest.raises(CheckpointError, match=r"model.path was ./models/b and is now tiny"):
        require_same_settings(tmp_path, weight_settings(build_config({})))


def test_a_step_whose_filter_keeps_nothing_leaves_weights_and_optimiser_as_they_are(
    model: Path, tmp_path: Path
) -> None:
    # the untrained model solves nothing, so all returns are equal; the entropy bonus alone moves it in step 1
    always = {"evaluation": QUIET, "loss": {"entropy_coefficient": 0.05}, "checkpoint": {"every": 1}}
    assert train(run_config(model, steps=1, filter={"type": "none"}, **always), tmp_path) == EXIT_DONE
    assert train(run_config(model, steps=2, filter={"type": "top_p"}, **always), tmp_path, resume=True) == EXIT_DONE
    first, second = (event for event in events_of(tmp_path) if event.kind == "step_completed")
    assert (first.skipped, bool(second.skipped)) == ("", True)
    assert second.metrics["filter/kept_groups"] == 0 and "optim/grad_norm" not in second.metrics
    one, other = (tmp_path / "checkpoints" / name for name in ("step_1", "step_2"))
    weights = [(path / "model/model.safetensors").read_bytes() for path in (one, other)]
    assert weights[0] == weights[1] != (model / "model.safetensors").read_bytes()
    before, after = (torch.load(path / "learner.pt", weights_only=True)["optimizer"] for path in (one, other))
    assert before["param_groups"] == after["param_groups"] and before["state"].keys() == after["state"].keys()
    for weight, state in before["state"].items():
        assert float(state["step"]) == 2.0  # two updates a step
        assert all(torch.equal(value, after["state"][weight][name]) for name, value in state.items())
