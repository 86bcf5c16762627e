"""Defaults that follow the model's size: for which sizes, where they apply, and what a user wrote stays."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from engine.__main__ import main
from engine.config import RunConfig, build_config
from engine.sized_defaults import Change, as_recorded, changes_of, parameters_of, sized_defaults, with_sized_defaults


def test_the_defaults_of_a_configuration_are_those_of_the_model_that_ships() -> None:
    assert changes_of(build_config({})) == []
    assert changes_of(build_config({"algorithm": {"type": "ppo"}})) == []


@pytest.mark.parametrize(
    ("path", "parameters"),
    [
        ("Qwen/Qwen2.5-0.5B-Instruct", 0.5e9),
        ("Qwen/Qwen2.5-Coder-7B", 7e9),
        ("meta-llama/Llama-3.2-1B-Instruct", 1e9),
        ("HuggingFaceTB/SmolLM2-135M", 135e6),
        ("openai-community/gpt2", None),
    ],
)
def test_a_model_that_is_not_here_has_the_parameters_that_its_name_says(path: str, parameters: float | None) -> None:
    assert parameters_of(path) == parameters


def test_the_parameters_of_a_model_that_is_here_are_counted() -> None:
    assert parameters_of("tiny") == 609_920


def test_models_of_up_to_four_billion_parameters_train_whole_and_larger_ones_an_adapter_at_ten_times_the_rate() -> None:
    for parameters in (0.5e9, 3e9):
        values = sized_defaults(parameters).values
        assert (values["optimizer.learning_rate"], values["model.lora.rank"]) == (1e-6, 0)
    values = sized_defaults(7e9).values
    assert (values["optimizer.learning_rate"], values["model.lora.rank"]) == (1e-5, 64)


@pytest.mark.parametrize("parameters", [1e6, 0.5e9, 3e9, 7e9, 70e9])
def test_every_size_makes_a_valid_configuration_with_a_source(parameters: float) -> None:
    wanted = sized_defaults(parameters)
    name = f"someone/Model-{parameters / 1e9:g}B"
    data, _ = with_sized_defaults({"model": {"path": name}}, build_config({"model": {"path": name}}))
    config = build_config(data)
    assert config.environments[0].max_response_tokens == wanted.response_tokens
    assert wanted.source
    assert changes_of(config) == []


def test_a_3b_model_differs_from_the_small_ones_in_these_fields() -> None:
    found = {change.field: (change.before, change.after) for change in changes_of(config_of({}))}
    assert found == {
        "optimizer.learning_rate": (2e-4, 1e-6),
        "optimizer.gradient_checkpointing": (False, True),
        "optimizer.precision": ("auto", "bfloat16"),
        "rollout.max_context_tokens": (1024, 3600),
        "evaluation.episodes_at_once": (0, 128),
        "environments.0.max_response_tokens": (40, 400),
    }


def test_what_the_user_wrote_stays_even_where_it_is_the_general_default() -> None:
    data = {"model": {"path": "x/y-3B"}, "optimizer": {"learning_rate": 2e-4}, "environments": [{"kind": "bandit"}]}
    changed, changes = with_sized_defaults(data, build_config(data))
    assert changed["optimizer"]["learning_rate"] == 2e-4
    assert "optimizer.learning_rate" not in {change.field for change in changes}
    assert changed["environments"] == [{"kind": "bandit", "max_response_tokens": 400}]
    assert data["environments"] == [{"kind": "bandit"}]  # not changed in place


def test_a_model_of_unknown_size_changes_nothing() -> None:
    assert changes_of(build_config({"model": {"path": "openai-community/gpt2"}})) == []


def test_the_critics_rate_follows_too_where_there_is_a_critic() -> None:
    found = changes_of(config_of({"algorithm": {"type": "ppo"}}))
    assert Change(field="algorithm.critic.learning_rate", before=1e-3, after=1e-5) in found


@pytest.mark.parametrize("applied", [True, False])
def test_the_command_line_applies_and_prints_them_unless_they_are_turned_off(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], applied: bool
) -> None:
    file = tmp_path / "run.toml"
    file.write_text('[model]\npath = "/nowhere/Model-3B"\n[optimizer]\nlearning_rate = 3e-6\n')
    option = [] if applied else ["--no-sized-defaults"]
    assert main(["train", str(file), "--run-dir", str(tmp_path / "run"), *option]) != 0  # there is no model
    printed = capsys.readouterr().err
    assert ("rollout.max_context_tokens = 3600 instead of 1024" in printed) == applied
    assert "optimizer.learning_rate" not in printed


def test_a_resumed_run_keeps_what_it_was_started_with_although_its_size_is_known_by_now() -> None:
    data = {"model": {"path": "lab/model"}, "environments": [{"kind": "bandit"}], "steps": 9}
    started = build_config(data).model_dump(mode="json")
    assert (started["optimizer"]["learning_rate"], started["rollout"]["max_context_tokens"]) == (2e-4, 1024)
    started["environments"][0]["max_response_tokens"] = 70
    found = build_config(as_recorded({**data, "optimizer": {"learning_rate": 3e-4}}, started))
    assert found.optimizer.learning_rate == 3e-4  # given now
    assert (found.rollout.max_context_tokens, found.environments[0].max_response_tokens) == (1024, 70)
    assert (found.steps, found.environments[0].kind) == (9, "bandit")


def test_the_rank_of_an_adapter_is_not_the_size_s_to_choose() -> None:
    config = build_config({"model": {"path": "x/y-7B", "adapter": "/adapter"}})
    assert not any(change.field.startswith("model.lora.") for change in changes_of(config))


def test_starting_over_is_for_a_run_that_is_resumed(tmp_path: Path) -> None:
    with pytest.raises(SystemExit):
        main(["train", str(tmp_path / "run.toml"), "--run-dir", str(tmp_path / "run"), "--start-over"])


def config_of(data: dict[str, Any]) -> RunConfig:
    return build_config({"model": {"path": "x/y-3B"}, **data})
