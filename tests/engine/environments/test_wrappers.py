"""Wrappers change what they say they change, and leave an environment that keeps the contract one."""

from __future__ import annotations

from typing import Any

import pytest
from gymnasium.utils.env_checker import check_env

from engine.config import EnvironmentConfig, build_config
from engine.environments import environment_of
from engine.environments.base import Environment
from engine.environments.checker import check
from engine.environments.wrappers import LAYERS
from engine.errors import ConfigError

SETTINGS: list[dict[str, Any]] = [
    {"type": "history", "actions": 2},
    {"type": "reward_shaping", "progress": 1.0, "scale": 0.5},
    {"type": "step_penalty", "penalty": -0.1},
    {"type": "action_noise", "probability": 0.5},
    {"type": "time_limit", "actions": 25},
    {"type": "action_mask", "hidden": ["Down"]},
]


def lake(*layers: dict[str, Any], **parameters: Any) -> Environment:
    data = {"kind": "frozen_lake", "parameters": parameters, "wrappers": list(layers)}
    return environment_of(EnvironmentConfig.model_validate(data))


def plan_of(environment: Environment, seed: int = 3) -> list[str]:
    environment.reset(seed=seed)
    return [environment.name_of(action) for action in environment.solution() or []]  # type: ignore[union-attr]


def rewards(environment: Environment, names: list[str], seed: int = 3) -> list[float]:
    environment.reset(seed=seed)
    return [environment.step(environment.resolve(name))[1] for name in names]


def test_every_wrapper_is_tried_here() -> None:
    assert [one["type"] for one in SETTINGS] == list(LAYERS)


@pytest.mark.parametrize("layer", SETTINGS, ids=lambda layer: str(layer["type"]))
@pytest.mark.parametrize("kind", ["frozen_lake", "sokoban"])
def test_a_wrapped_environment_keeps_both_contracts(kind: str, layer: dict[str, Any]) -> None:
    config = EnvironmentConfig.model_validate({"kind": kind, "wrappers": [layer]})
    assert check(lambda: environment_of(config), range(4)) == []
    check_env(environment_of(config), skip_render_check=True)


def test_history_lists_the_last_actions_with_their_rewards() -> None:
    environment = lake({"type": "history", "actions": 2}, size=6)
    plan = plan_of(environment)
    assert "Last actions" not in environment.reset(seed=3)[0]
    for name in plan[:-1]:
        observation = environment.step(environment.resolve(name))[0]
    # a step on ice pays 0
    assert observation.splitlines()[0] == "Last actions: " + ", ".join(f"{name} (0)" for name in plan[:-1][-2:])


def test_a_step_penalty_is_added_to_every_action() -> None:
    plain, costly = lake(), lake({"type": "step_penalty", "penalty": -0.25})
    plan = plan_of(plain)
    assert rewards(costly, plan) == [reward - 0.25 for reward in rewards(plain, plan)]


def test_progress_pays_for_each_action_nearer() -> None:
    plan = plan_of(lake())
    shaped = lake({"type": "reward_shaping", "progress": 0.5})
    # every action of a shortest solution comes one nearer: 0.5 each, and the goal pays 1 more
    assert rewards(shaped, plan) == [*[0.5] * (len(plan) - 1), 1.5]


def test_rewards_are_scaled_before_they_are_clipped() -> None:
    environment = lake({"type": "reward_shaping", "scale": 10.0, "high": 4.0})
    assert rewards(environment, plan_of(environment))[-1] == 4.0


def test_noise_depends_on_chance_and_not_on_the_problem() -> None:
    environment = lake({"type": "action_noise", "probability": 0.5}, size=8)
    starts, ends = set(), set()
    for chance in range(12):
        starts.add(environment.reset(seed=3, options={"chance_seed": chance})[0])
        for _ in range(3):
            observation, _, over, _, _ = environment.step(environment.resolve("Left"))
            if over:
                break
        ends.add(observation)
    assert len(starts) == 1
    assert len(ends) > 1


def test_a_time_limit_truncates_and_does_not_terminate() -> None:
    environment = lake({"type": "time_limit", "actions": 2}, size=8, frozen_probability=1.0)
    environment.reset(seed=3)
    # two steps do not reach a goal that is further away
    assert len(environment.solution() or []) > 2  # type: ignore[arg-type]
    assert environment.step(environment.resolve("Up"))[2:4] == (False, False)
    assert environment.step(environment.resolve("Down"))[2:4] == (False, True)
    with pytest.raises(RuntimeError, match="call reset"):
        environment.step(0)


def test_a_hidden_action_has_no_name_and_is_not_listed() -> None:
    environment = lake({"type": "action_mask", "hidden": ["up", "Left"]})
    environment.reset(seed=3)
    assert environment.action_names() == ["Down", "Right"]
    assert environment.resolve("Up") is None
    assert environment.resolve("right") == 1
    assert "Not available: left, up." in environment.describe()


def test_layers_apply_from_the_inside_out() -> None:
    scale = {"type": "reward_shaping", "scale": 2.0}
    cost = {"type": "step_penalty", "penalty": -0.5}
    # a step on ice pays 0: (0 * 2) - 0.5 with the penalty outside, (0 - 0.5) * 2 with it inside
    safe = {"frozen_probability": 1.0, "size": 8}
    assert rewards(lake(scale, cost, **safe), ["Up"]) == [-0.5]
    assert rewards(lake(cost, scale, **safe), ["Up"]) == [-1.0]


def test_a_wrapper_keeps_what_the_environment_is() -> None:
    environment, plain = lake({"type": "history"}, {"type": "step_penalty"}), lake()
    assert (environment.kind, environment.separator, environment.split_by) == ("frozen_lake", "||", "hash")
    environment.reset(seed=5)
    plain.reset(seed=5)
    assert environment.problem() == plain.problem()


def test_an_unknown_layer_is_refused_with_those_there_are() -> None:
    with pytest.raises(ConfigError, match="history"):
        build_config({"environments": [{"kind": "frozen_lake", "wrappers": [{"type": "mirror"}]}]})
