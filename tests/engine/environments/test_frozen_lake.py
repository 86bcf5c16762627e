"""FrozenLake as RAGEN plays it, with gymnasium's own dynamics."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from engine.environments import make_environment
from engine.environments.frozen_lake import FrozenLakeParameters, make_lake


def test_start_and_goal_are_anywhere_but_never_the_same_tile() -> None:
    lakes = ["".join(make_lake(seed, 4, 0.8)) for seed in range(300)]
    assert all(lake.count("S") == lake.count("G") == 1 for lake in lakes)
    assert {lake.index("S") for lake in lakes} == set(range(16))


def test_reaching_the_goal_earns_1_and_everything_else_0() -> None:
    lake = make_environment("frozen_lake")
    lake.reset(seed=3)
    rewards = [lake.step(action)[1] for action in lake.solution() or []]
    assert rewards == [0.0] * (len(rewards) - 1) + [1.0]


def test_walking_into_the_border_changes_nothing_and_says_so() -> None:
    lake = make_environment("frozen_lake", frozen_probability=1.0)
    seed = next(s for s in range(100) if make_lake(s, 4, 1.0)[0][0] == "S")
    before, _ = lake.reset(seed=seed)
    observation, _, _, _, info = lake.step(0)
    assert observation == before
    assert info == {"action_is_valid": True, "action_is_effective": False, "success": False}


def test_slipping_goes_as_intended_at_the_success_rate_and_sideways_otherwise() -> None:
    # one step Down from the middle of open ice: down 0.8, left and right 0.1 each, up never
    lake = make_environment("frozen_lake", size=3, frozen_probability=1.0, success_rate=0.8)
    seed = next(s for s in range(500) if make_lake(s, 3, 1.0)[1][1] == "S")
    went = {"down": 0, "sideways": 0, "up": 0}
    for luck in range(2000):
        lake.reset(seed=seed, options={"chance_seed": luck})
        lake.step(1)
        row, _ = lake.agent  # type: ignore[attr-defined]
        went["down" if row == 2 else "up" if row == 0 else "sideways"] += 1
    assert went["up"] == 0
    # the standard deviation of the share is sqrt(0.8 * 0.2 / 2000) = 0.009
    assert went["down"] / 2000 == pytest.approx(0.8, abs=0.04)


def test_the_description_tells_the_symbols_and_the_slip_as_they_are() -> None:
    lake = make_environment("frozen_lake", symbols={"player": "@"}, success_rate=0.8, format="grid_and_coordinates")
    lake.reset(seed=1)
    text = lake.describe()
    assert "@ player," in text and "P player" not in text
    assert "80%" in text
    assert "(3, 3)" in text
    assert "@" in lake.render()


def test_coordinates_name_player_goal_and_holes() -> None:
    lake = make_environment("frozen_lake", format="coordinates")
    lake.reset(seed=4)
    lines = lake.render().splitlines()
    assert lines[0].startswith("Player: (") and lines[1].startswith("Goal: (")


@pytest.mark.parametrize(
    ("symbols", "reason"),
    [
        ({"lava": "L"}, "no symbol is called 'lava'"),
        ({"player": "PP"}, "one visible character"),
        ({"player": "G"}, "share a character"),
        ({"player": "☃"}, "ASCII"),
    ],
)
def test_impossible_symbols_are_refused_with_the_reason(symbols: dict[str, str], reason: str) -> None:
    with pytest.raises(ValidationError, match=reason):
        FrozenLakeParameters(symbols=symbols)
