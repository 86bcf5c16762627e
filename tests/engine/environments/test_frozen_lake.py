"""FrozenLake as RAGEN plays it, with gymnasium's own dynamics."""

from __future__ import annotations

import pytest
from gymnasium.envs.toy_text.frozen_lake import FrozenLakeEnv
from pydantic import ValidationError

from engine.environments import make_environment
from engine.environments.frozen_lake import FrozenLakeParameters, make_lake

LEFT, DOWN, RIGHT, UP = range(4)


def test_start_and_goal_are_anywhere_but_never_the_same_tile() -> None:
    lakes = ["".join(make_lake(seed, 4, 0.8)) for seed in range(300)]
    assert all(lake.count("S") == lake.count("G") == 1 for lake in lakes)
    assert {lake.index("S") for lake in lakes} == set(range(16))
    assert {lake.index("G") for lake in lakes} == set(range(16))


@pytest.mark.parametrize(("size", "frozen"), [(2, 0.25), (4, 0.8), (8, 0.7), (12, 0.6)])
def test_a_path_joins_every_start_and_goal(size: int, frozen: float) -> None:
    lake = make_environment("frozen_lake", size=size, frozen_probability=frozen)
    for seed in range(50):
        lake.reset(seed=seed)
        assert lake.solution()


def test_less_ice_is_more_holes() -> None:
    holes = {p: sum("".join(make_lake(seed, 8, p)).count("H") for seed in range(50)) for p in (1.0, 0.9, 0.7)}
    assert holes[1.0] == 0 < holes[0.9] < holes[0.7]


def test_reaching_the_goal_earns_1_and_everything_else_0() -> None:
    lake = make_environment("frozen_lake")
    lake.reset(seed=3)
    rewards = [lake.step(action)[1] for action in lake.solution() or []]
    assert rewards == [0.0] * (len(rewards) - 1) + [1.0]


def test_a_hole_ends_the_episode_with_nothing() -> None:
    lake = make_environment("frozen_lake")
    seed = next(s for s in range(100) if any("SH" in row for row in make_lake(s, 4, 0.8)))
    lake.reset(seed=seed)
    observation, reward, terminated, truncated, info = lake.step(RIGHT)
    assert (reward, terminated, truncated, info["success"]) == (0.0, True, False, False)
    assert "X" in observation and "P" not in observation
    assert lake.solution() is None
    assert lake.drawing()["agent_state"] == "in_hole"


def test_walking_into_the_border_changes_nothing_and_says_so() -> None:
    lake = make_environment("frozen_lake", frozen_probability=1.0)
    seed = next(s for s in range(100) if make_lake(s, 4, 1.0)[0][0] == "S")
    before, _ = lake.reset(seed=seed)
    observation, _, _, _, info = lake.step(LEFT)
    assert observation == before
    assert info == {"action_is_valid": True, "action_is_effective": False, "success": False}


def test_slipping_goes_as_intended_at_the_success_rate_and_sideways_otherwise() -> None:
    # one step Down from the middle of open ice: down 0.8, left and right 0.1 each, up never
    lake = make_environment("frozen_lake", size=3, frozen_probability=1.0, success_rate=0.8)
    seed = next(s for s in range(500) if make_lake(s, 3, 1.0)[1][1] == "S")
    went = {(2, 1): 0, (1, 0): 0, (1, 2): 0}
    for luck in range(2000):
        lake.reset(seed=seed, options={"chance_seed": luck})
        lake.step(DOWN)
        went[lake.agent] += 1  # type: ignore[attr-defined]
    # standard deviations of the shares: sqrt(0.8 * 0.2 / 2000) = 0.009 and sqrt(0.1 * 0.9 / 2000) = 0.007
    assert went[2, 1] / 2000 == pytest.approx(0.8, abs=0.036)
    assert went[1, 0] / 2000 == pytest.approx(0.1, abs=0.028)
    assert went[1, 2] / 2000 == pytest.approx(0.1, abs=0.028)


def test_members_with_the_same_problem_slip_independently_and_the_same_luck_repeats() -> None:
    lake = make_environment("frozen_lake", frozen_probability=1.0, success_rate=0.5)

    def walk(luck: int) -> list[str]:
        lake.reset(seed=3, options={"chance_seed": luck})
        seen = []
        for _ in range(4):
            observation, _, over, _, _ = lake.step(DOWN)
            seen.append(observation)
            if over:
                break
        return seen

    assert walk(1) == walk(1)
    assert len({tuple(walk(luck)) for luck in range(8)}) > 1


@pytest.mark.parametrize("rate", [0.7, 0.0])
def test_it_moves_as_gymnasiums_own_environment_does(rate: float) -> None:
    ours = make_environment("frozen_lake", success_rate=rate)
    for seed in range(10):
        ours.reset(seed=seed, options={"chance_seed": seed + 1})
        theirs = FrozenLakeEnv(desc=list(make_lake(seed, 4, 0.8)), is_slippery=True, success_rate=rate)
        theirs.reset(seed=seed + 1)
        for action in (DOWN, RIGHT, UP, LEFT, RIGHT, DOWN):
            _, reward, over, _, _ = ours.step(action)
            state, their_reward, their_over, _, _ = theirs.step(action)  # type: ignore[no-untyped-call]
            assert (divmod(int(state), 4), float(their_reward), their_over) == (ours.agent, reward, over)  # type: ignore[attr-defined]
            if over:
                break


def test_one_players_moves_are_not_anothers_though_they_share_a_lake() -> None:
    first, second = make_environment("frozen_lake"), make_environment("frozen_lake")
    begin, _ = first.reset(seed=3)
    second.reset(seed=3)
    first.step((first.solution() or [])[0])
    assert second.render() == begin != first.render()


def test_the_description_tells_the_symbols_and_the_slip_as_they_are() -> None:
    lake = make_environment("frozen_lake", symbols={"player": "@"}, success_rate=0.8, format="grid_and_coordinates")
    lake.reset(seed=1)
    text = lake.describe()
    assert "@ player," in text and "P player" not in text
    assert "80%" in text
    assert "(3, 3)" in text
    assert "@" in lake.render()


@pytest.mark.parametrize(("rate", "written"), [(0.29, "29%"), (0.999, "99.9%"), (0.125, "12.5%")])
def test_the_chance_of_a_slip_is_written_without_rounding_it_away(rate: float, written: str) -> None:
    assert f"as intended {written} of the time" in make_environment("frozen_lake", success_rate=rate).describe()


def test_ice_that_never_slips_is_not_called_slippery_and_a_grid_needs_no_coordinates() -> None:
    assert make_environment("frozen_lake").describe() == (
        "Symbols: P player, _ ice, O hole, G goal, X player in hole, √ player on goal.\nActions: Left, Down, Right, Up."
    )


def test_the_coordinates_of_a_larger_lake_are_described_with_its_own_size() -> None:
    text = make_environment("frozen_lake", size=6, format="coordinates").describe()
    assert "(0, 0) at the top left to (5, 5)" in text
    assert "Symbols" not in text


def test_a_grid_is_rows_of_symbols_with_spaces_between_and_nothing_else() -> None:
    lake = make_environment("frozen_lake")
    text, _ = lake.reset(seed=3)
    assert [len(line) for line in text.splitlines()] == [7, 7, 7, 7]
    assert set(text) <= set("P_OG \n")


def test_coordinates_name_player_goal_and_holes_where_the_grid_has_them() -> None:
    lake = make_environment("frozen_lake", format="grid_and_coordinates")
    for seed in range(10):
        lines = lake.reset(seed=seed)[0].splitlines()
        grid = [line.split(" ") for line in lines[-4:]]
        for name, symbol in (("Player", "P"), ("Goal", "G"), ("Holes", "O")):
            positions = " ".join(f"({r}, {c})" for r in range(4) for c in range(4) if grid[r][c] == symbol)
            assert not positions or f"{name}: {positions}" in lines


@pytest.mark.parametrize(
    ("symbols", "reason"),
    [
        ({"lava": "L"}, "no symbol is called 'lava'"),
        ({"player": "PP"}, "one visible character"),
        ({"player": " "}, "one visible character"),
        ({"player": "G"}, "share a character"),
        ({"player": "☃"}, "ASCII"),
    ],
)
def test_impossible_symbols_are_refused_with_the_reason(symbols: dict[str, str], reason: str) -> None:
    with pytest.raises(ValidationError, match=reason):
        FrozenLakeParameters(symbols=symbols)
