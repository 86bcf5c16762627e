"""What a step samples: problems drawn again where returns were equal, and greedy episodes to compare with."""

from __future__ import annotations

from typing import Any

import pytest

from engine.config import RunConfig, build_config
from engine.errors import ConfigError
from engine.rollout.env_state_manager import EnvStateManager
from engine.training.backend import LocalBackend
from engine.training.learner import Learner
from engine.training.step_rollout import StepRollout, greedy_baselines, roll_out_step
from tests.engine.models import words
from tests.engine.rollout.builders import lake_config
from tests.engine.talker import talking_model

DROPS_EQUAL = {"type": "top_p", "value": 1.0}

pytestmark = pytest.mark.slow


def config_of(*, refill: int, **lake: Any) -> RunConfig:
    data = lake_config(rollout={"groups": 3, "group_size": 2}, **lake).model_dump()
    data["rollout"]["refill"] = refill
    return build_config({**data, "filter": DROPS_EQUAL})


def rolled_out(config: RunConfig, step: int = 1) -> StepRollout:
    rollout = config.rollout
    manager = EnvStateManager(
        config.environments, groups=rollout.groups, group_size=rollout.group_size, seed=1, refills=rollout.refill
    )
    return roll_out_step(backend_of(config), manager, config, step)


def backend_of(config: RunConfig) -> LocalBackend:
    return LocalBackend(config, Learner(talking_model(), config), words())


def test_groups_of_equal_returns_are_followed_by_fresh_problems_as_often_as_allowed() -> None:
    # one turn of one action, on a lake where the goal is far: every return is 0
    large = {"size": 9, "frozen_probability": 1.0}
    config = config_of(refill=2, max_turns=1, max_actions_per_turn=1, format_penalty=0.0, parameters=large)
    found = rolled_out(config)
    assert {trajectory.raw_return for trajectory in found.trajectories} == {0.0}
    assert sorted({trajectory.group for trajectory in found.trajectories}) == list(range(9))
    assert len({trajectory.seed for trajectory in found.trajectories}) == 9
    assert found.metrics == {"filter/refilled_groups": 6.0}


def test_problems_of_refills_are_those_of_no_other_step() -> None:
    config = config_of(refill=2, max_turns=1, max_actions_per_turn=1, format_penalty=0.0)
    first, second = ({t.seed for t in rolled_out(config, step).trajectories} for step in (1, 2))
    assert not first & second


def test_when_all_greedy_episodes_fail_trajectories_are_compared_with_their_groups_mean(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    data = lake_config(rollout={"groups": 2, "group_size": 2}).model_dump()
    config = build_config({**data, "algorithm": {"type": "remax"}})
    manager = EnvStateManager(config.environments, groups=2, group_size=2, seed=1)
    specs = manager.training_batch(1)
    trajectories = rolled_out(config).trajectories
    monkeypatch.setattr("engine.rollout.episode.environment_of", lambda config: BrokenReset())
    found, _ = greedy_baselines(backend_of(config), specs, trajectories)
    scores = [trajectory.score for trajectory in trajectories]
    assert found == pytest.approx({0: (scores[0] + scores[1]) / 2, 1: (scores[2] + scores[3]) / 2})


class BrokenReset:
    def reset(self, **_: Any) -> None:
        raise RuntimeError("no level today")


def test_a_refill_draws_only_the_requested_groups_and_for_the_same_environment() -> None:
    lakes = [{"kind": "frozen_lake", "tag": tag} for tag in "ABC"]
    environments = build_config({"environments": lakes, "rollout": {"groups": 3, "group_size": 2}}).environments
    manager = EnvStateManager(environments, groups=3, group_size=2, seed=1, refills=1)
    specs = manager.refill_batch(4, draw=1, indices=[2])
    assert [(spec.environment.tag, spec.group, spec.member) for spec in specs] == [("C", 5, 0), ("C", 5, 1)]


def test_a_refill_that_the_filter_would_not_make_use_of_is_refused() -> None:
    with pytest.raises(ConfigError, match="keeps such groups as well"):
        build_config({"rollout": {"refill": 1}})
    with pytest.raises(ConfigError, match="keeps such groups as well"):
        build_config({"rollout": {"refill": 1}, "filter": {**DROPS_EQUAL, "include_zero": True}})


def test_remax_plays_one_greedy_episode_for_each_group_and_the_same_one_each_time() -> None:
    data = lake_config(rollout={"groups": 3, "group_size": 2}).model_dump()
    config = build_config({**data, "algorithm": {"type": "remax"}})
    found, again = rolled_out(config), rolled_out(config)
    assert sorted(found.baselines) == [0, 1, 2]
    assert found.baselines == again.baselines
    assert len(found.trajectories) == 6  # greedy episodes are not among what trains
    assert found.metrics["reward/greedy"] == pytest.approx(sum(found.baselines.values()) / 3)
