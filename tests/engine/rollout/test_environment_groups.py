"""Several environments in one run: whose the groups of a step are, and metrics by tag that count nobody twice."""

from __future__ import annotations

from typing import Any

import pytest

from engine.config import RunConfig, build_config, group_shares
from engine.errors import ConfigError
from engine.rollout.env_state_manager import EnvStateManager
from engine.training.rollout_metrics import rollout_metrics
from tests.engine.rollout.builders import say


def environments(*groups: int) -> list[dict[str, Any]]:
    return [{"kind": "frozen_lake", "tag": f"lake {index}", "groups": count} for index, count in enumerate(groups)]


def config_of(total: int, *groups: int) -> RunConfig:
    return build_config({"environments": environments(*groups), "rollout": {"groups": total, "group_size": 2}})


@pytest.mark.parametrize(
    ("total", "groups", "shares"),
    [
        (16, (0,), [16]),
        (16, (0, 0), [8, 8]),
        (16, (4, 12), [4, 12]),
        (16, (10, 0, 0), [10, 3, 3]),
        (3, (0, 1, 0), [1, 1, 1]),
    ],
)
def test_groups_are_as_given_and_the_rest_is_shared_evenly(
    total: int, groups: tuple[int, ...], shares: list[int]
) -> None:
    config = config_of(total, *groups)
    assert group_shares(config.environments, total) == shares
    specs = EnvStateManager(config.environments, groups=total, group_size=2, seed=1).training_batch(1)
    played = [sum(spec.environment.tag == e.tag for spec in specs) for e in config.environments]
    assert played == [2 * share for share in shares]
    assert sorted({spec.group for spec in specs}) == list(range(total))


@pytest.mark.parametrize(
    ("total", "groups", "why"),
    [
        (16, (4, 4), "have 8 groups in total and the step has 16. Set rollout.groups to 8"),
        (4, (4, 4), "have 8 groups in total and the step has 4"),
        (16, (16, 0), "leaves 0 for the 1 without. Raise it to 17 or more"),
        (4, (6, 0, 0), "leaves 0 for the 2 without. Raise it to 8 or more"),
        (16, (3, 0, 0), "13 groups do not split evenly over 2 environments. Use 3 and a multiple of 2"),
        (15, (0, 0), "15 groups do not split evenly over 2 environments. Use a multiple of 2"),
    ],
)
def test_groups_that_do_not_come_out_even_are_refused(total: int, groups: tuple[int, ...], why: str) -> None:
    with pytest.raises(ConfigError, match=r"rollout\.groups: ") as refused:
        config_of(total, *groups)
    assert why in str(refused.value)


def test_metrics_by_tag_are_those_of_its_own_trajectories() -> None:
    lake = {"kind": "frozen_lake", "tag": "lake", "groups": 1, "max_turns": 3}
    bandit = {"kind": "bandit", "tag": "arms"}
    config = build_config({"environments": [lake, bandit], "rollout": {"groups": 3, "group_size": 2}})
    played = say(config, ["go</think><answer>Up</answer>"])
    assert [t.environment for t in played] == ["lake"] * 2 + ["arms"] * 4
    for index, trajectory in enumerate(played):
        trajectory.turns[0].reward = float(index)  # lake 0 and 1; arms 2, 3, 4 and 5
        trajectory.success = index in (1, 5)
    metrics = rollout_metrics(played)
    assert (metrics["env/lake/return"], metrics["env/arms/return"]) == (0.5, 3.5)
    assert (metrics["env/lake/success"], metrics["env/arms/success"]) == (0.5, 0.25)
    assert metrics["reward/mean"] == pytest.approx(2.5 + sum(t.penalty for t in played) / 6)
    assert metrics["rollout/success"] == pytest.approx(2 / 6)
