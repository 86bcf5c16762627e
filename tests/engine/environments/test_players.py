"""Scripted players, and whether problems can be solved within a budget at all."""

from __future__ import annotations

import numpy as np
import pytest

from engine.config import EnvironmentConfig, RunConfig
from engine.environments import make_environment
from engine.environments.feasibility import action_budget, feasibility, require_solvable
from engine.environments.players import PLAYERS, baseline, mixed, player_named
from engine.errors import ConfigError


def config(kind: str = "frozen_lake", **changes: object) -> EnvironmentConfig:
    return EnvironmentConfig.model_validate({"kind": kind, **changes})


@pytest.mark.parametrize("kind", ["frozen_lake", "sokoban"])
def test_perfect_play_solves_what_fits_the_budget_and_chance_much_less(kind: str) -> None:
    ample = config(kind, max_turns=10, max_actions_per_turn=2, max_actions=20)
    assert baseline(ample, "scripted", episodes=50).success == 1.0
    assert baseline(ample, "random", episodes=100).success < 0.5


def test_a_player_with_some_random_actions_is_between_the_two() -> None:
    success = {name: baseline(config(), name, episodes=200).success for name in ("random", "mixed:0.4", "scripted")}
    assert success["random"] < success["mixed:0.4"] < success["scripted"]


def test_sokobans_perfect_return_is_11_less_a_tenth_of_the_moves() -> None:
    environment = make_environment("sokoban")
    lengths = []
    for seed in range(30):
        environment.reset(seed=seed)
        lengths.append(len(environment.solution() or []))
    found = baseline(config("sokoban"), "scripted", episodes=30)
    assert found.mean_return == pytest.approx(11 - 0.1 * sum(lengths) / 30)


def test_a_player_decides_a_turn_of_names_and_no_more_than_asked_for() -> None:
    environment = make_environment("frozen_lake")
    seed = next(s for s in range(50) if _length(s) >= 3)
    environment.reset(seed=seed)
    names, chance = environment.action_names(), np.random.default_rng(1)
    best = [names[action] for action in environment.solution() or []]
    assert PLAYERS["scripted"](environment, 2, chance) == best[:2]
    assert PLAYERS["scripted"](environment, 99, chance) == best
    assert mixed(0.0)(environment, 2, chance) == best[:2]
    assert len(PLAYERS["random"](environment, 2, chance)) == 2


def _length(seed: int) -> int:
    environment = make_environment("frozen_lake")
    environment.reset(seed=seed)
    return len(environment.solution() or [])


@pytest.mark.parametrize(("turns", "per_turn", "total"), [(5, 2, 3), (1, 2, 10), (2, 1, 10), (1, 1, 1)])
def test_perfect_play_solves_exactly_the_problems_that_fit_the_budgets(turns: int, per_turn: int, total: int) -> None:
    tight = config(max_turns=turns, max_actions_per_turn=per_turn, max_actions=total)
    fitting = feasibility("frozen_lake", {}, action_budget(tight), range(100)).solvable_share
    assert 0 < fitting < 1
    assert baseline(tight, "scripted", episodes=100).success == pytest.approx(fitting)


@pytest.mark.parametrize("name", ["perfect", "mixed", "mixed:often", "mixed:1.5"])
def test_an_unknown_player_is_refused(name: str) -> None:
    with pytest.raises(ConfigError):
        player_named(name)


def test_the_same_baseline_is_measured_twice_the_same() -> None:
    slippery = config(parameters={"success_rate": 0.8})
    assert baseline(slippery, "mixed:0.3", episodes=30) == baseline(slippery, "mixed:0.3", episodes=30)


@pytest.mark.parametrize(("turns", "per_turn", "total", "expected"), [(5, 2, 10, 10), (1, 2, 10, 2), (5, 5, 7, 7)])
def test_the_action_budget_is_the_tighter_of_total_and_turns(
    turns: int, per_turn: int, total: int, expected: int
) -> None:
    assert action_budget(config(max_turns=turns, max_actions_per_turn=per_turn, max_actions=total)) == expected


def test_feasibility_counts_the_problems_whose_shortest_solution_fits() -> None:
    lengths = sorted(_length(seed) for seed in range(20))
    found = feasibility("frozen_lake", {}, 2)
    assert found.solvable_share == sum(length <= 2 for length in lengths) / 20
    assert found.median_length == (lengths[9] + lengths[10]) / 2
    assert found.longest == lengths[-1]
    assert feasibility("frozen_lake", {}, found.longest).solvable_share == 1.0


def test_a_budget_that_fits_under_six_problems_of_ten_is_doubtful_and_one_that_fits_none_impossible() -> None:
    hard = {"boxes": 3, "rows": 8, "columns": 8, "depth": 30}
    none, some = feasibility("sokoban", hard, 1), feasibility("sokoban", hard, 12)
    assert none.impossible and none.unlikely
    assert not some.impossible and some.unlikely
    assert none.explain().startswith("0% of 20 problems can be solved in 1 action; shortest solutions take ")


def test_the_bandit_is_solved_by_one_pull() -> None:
    found = feasibility("bandit", {}, 1)
    assert (found.solvable_share, found.longest) == (1.0, 1)


def test_a_run_whose_problems_cannot_be_solved_is_refused_with_what_to_raise() -> None:
    environments = [{"kind": "sokoban", "parameters": {"boxes": 3, "rows": 8, "columns": 8}, "max_actions": 1}]
    with pytest.raises(ConfigError, match="Raise max_turns, max_actions_per_turn or max_actions"):
        require_solvable(RunConfig.model_validate({"environments": environments}))
