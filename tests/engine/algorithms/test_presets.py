"""Presets make valid configs, replace each other whole, and agree with the files that ship."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import engine
from engine.algorithms.filters import TopK, TopP
from engine.algorithms.presets import PRESETS, apply_preset, differences, find_preset
from engine.config import EnvironmentConfig, RunConfig, build_config, read_config
from engine.environments import environment_class
from engine.errors import ConfigError
from engine.models.tiny.recipes import RECIPES

CONFIGS = sorted((Path(engine.__file__).parent / "configs").glob("*.toml"))


@pytest.mark.parametrize("name", PRESETS)
def test_every_preset_makes_a_valid_config_that_has_no_differences(name: str) -> None:
    config = build_config(apply_preset(name, {}))
    assert config.preset == PRESETS[name].title
    assert differences(config) == {}


def test_starpo_s_keeps_a_quarter_of_the_groups_with_a_critic_no_kl_and_a_higher_clip() -> None:
    config = build_config(apply_preset("starpo_s", {}))
    assert config.filter == TopK(value=0.25)
    assert (config.algorithm.type, config.loss.kl_coefficient) == ("ppo", 0.0)
    assert (config.loss.clip_low, config.loss.clip_high) == (0.2, 0.28)


def test_vanilla_starpo_trains_on_every_group_and_has_a_kl_penalty() -> None:
    config = build_config(apply_preset("starpo", {}))
    assert (config.filter.type, config.loss.kl_coefficient, config.loss.clip_high) == ("none", 0.001, 0.2)


def test_dr_grpo_divides_by_neither_std_nor_length() -> None:
    config = build_config(apply_preset("dr_grpo", {}))
    assert (config.algorithm.type, config.loss.aggregation.type) == ("dr_grpo", "sequence_mean_token_sum_norm")


def test_dapo_draws_again_for_what_its_filter_drops_and_charges_for_the_last_fifth_of_a_response() -> None:
    config = build_config(apply_preset("dapo", {}))
    assert (config.rollout.overlong_buffer, config.rollout.overlong_penalty) == (0.2, -1.0)
    assert (config.rollout.refill, config.filter) == (2, TopP(value=1.0))
    assert (config.loss.clip_high, config.loss.kl_coefficient, config.loss.aggregation.type) == (
        0.28,
        0.0,
        "token_mean",
    )


def test_no_two_presets_are_the_same_run() -> None:
    runs = [preset.overrides for preset in PRESETS.values()]
    assert all(first != second for index, first in enumerate(runs) for second in runs[:index])


def test_every_algorithm_ships_a_file_that_names_its_preset() -> None:
    assert set(PRESETS) <= {path.stem for path in CONFIGS}
    for name, preset in PRESETS.items():
        path = next(path for path in CONFIGS if path.stem == name)
        assert read_config(path).preset == preset.title


@pytest.mark.parametrize("first", PRESETS)
@pytest.mark.parametrize("second", PRESETS)
def test_choosing_another_preset_leaves_nothing_of_the_first(first: str, second: str) -> None:
    assert apply_preset(second, apply_preset(first, {})) == apply_preset(second, {})


def test_a_preset_keeps_what_it_does_not_decide_and_does_not_touch_its_base() -> None:
    base: dict[str, Any] = {"seed": 5, "loss": {"entropy_coefficient": 0.02, "clip_high": 0.5}}
    found = apply_preset("ppo", base)
    assert (found["seed"], found["loss"]["entropy_coefficient"], found["loss"]["clip_high"]) == (5, 0.02, 0.2)
    assert base == {"seed": 5, "loss": {"entropy_coefficient": 0.02, "clip_high": 0.5}}


def test_differences_name_the_field_the_presets_value_and_the_configs() -> None:
    data = apply_preset("grpo", {})
    data["loss"]["clip_high"] = 0.3
    data["loss"]["entropy_coefficient"] = 0.5  # no preset decides it
    assert differences(build_config(data)) == {"loss.clip_high": (0.2, 0.3)}


def test_differences_of_another_variant_name_the_fields_that_only_one_has() -> None:
    data = {**apply_preset("starpo_s", {}), "filter": {"type": "top_p"}}
    found = differences(build_config(data))
    assert found.keys() == {"filter.type", "filter.value", "filter.mode", "filter.epsilon"}
    assert (found["filter.type"], found["filter.mode"]) == (("top_k", "top_p"), (None, "variance"))


def test_a_custom_config_differs_from_nothing() -> None:
    assert find_preset("custom") is None
    assert differences(RunConfig()) == {}


def test_an_unknown_preset_is_refused_with_the_names_there_are() -> None:
    with pytest.raises(
        ConfigError, match=r"no preset 'pp0'.*ppo, starpo, starpo_s, grpo, dapo, dr_grpo, rloo, reinforce_plus_plus"
    ):
        apply_preset("pp0", {})


@pytest.mark.parametrize("path", CONFIGS, ids=[path.stem for path in CONFIGS])
def test_a_shipped_config_is_what_the_preset_it_names_says(path: Path) -> None:
    assert differences(read_config(path)) == {}


def test_reading_presets_does_not_load_torch() -> None:
    modules = "engine.algorithms.presets, engine.algorithms.filters, engine.metrics, engine.diagnostics.detectors"
    code = f"import sys, {modules}; print('torch' in sys.modules)"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "False"


@pytest.mark.parametrize("path", CONFIGS, ids=[path.stem for path in CONFIGS])
def test_a_shipped_config_trains_a_bundled_model_on_examples_of_environments(path: Path) -> None:
    """So that the page of a new run can select the environment that a preset is made for by its name."""
    config = read_config(path)
    known = RECIPES[config.model.path]
    for environment in config.environments:
        example = environment_class(environment.kind).examples[environment.tag]
        fields = {"kind": environment.kind, "tag": environment.tag, **example}
        assert environment == EnvironmentConfig.model_validate(fields)
        assert environment.kind in {environment_class(component.config["kind"]).kind for component in known.mix}
