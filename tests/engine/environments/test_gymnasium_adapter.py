"""Registered gymnasium environments as text environments."""

from __future__ import annotations

from typing import Any

import gymnasium
import pytest
from pydantic import ValidationError

from engine.environments import make_environment
from engine.environments.base import UNKNOWN, Environment
from engine.environments.checker import check_environment
from engine.environments.problems import problem_id
from engine.errors import ConfigError


class Echo(gymnasium.Env[str, str]):
    """Repeats the action; ends with success when that is its secret number."""

    def __init__(self) -> None:
        self.action_space = gymnasium.spaces.Text(max_length=5, charset="0123456789")
        self.observation_space = gymnasium.spaces.Text(max_length=50)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, dict[str, Any]]:
        super().reset(seed=seed)
        self.secret = str(self.np_random.integers(10))
        return f"secret {self.secret}", {}

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        return f"you said {action}", float(action == self.secret), action == self.secret, False, {}


class Levers(gymnasium.Env[dict[str, Any], int]):
    """Actions that do not start at 0, and a dict of observations."""

    def __init__(self) -> None:
        self.action_space = gymnasium.spaces.Discrete(2, start=3)
        self.observation_space = gymnasium.spaces.Dict(
            {"count": gymnasium.spaces.Discrete(9), "pair": gymnasium.spaces.Box(0, 1, (2,))}
        )

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        super().reset(seed=seed)
        self.pulled = 0
        return {"count": 0, "pair": self.observation_space["pair"].low}, {}

    def step(self, action: int) -> Any:
        assert action in (3, 4)
        self.pulled += 1
        return {"count": self.pulled, "pair": self.observation_space["pair"].high}, 1.0, action == 4, False, {}


@pytest.fixture(autouse=True)
def registered() -> Any:
    gymnasium.register("test/Echo-v0", Echo)
    gymnasium.register("test/Levers-v0", Levers)
    yield
    del gymnasium.registry["test/Echo-v0"], gymnasium.registry["test/Levers-v0"]


def played_out(environment: Environment, seed: int) -> tuple[float, bool]:
    environment.reset(seed=seed)
    solution, total, success = environment.solution(), 0.0, False
    assert solution is not UNKNOWN
    for action in solution or []:
        _, reward, _, _, info = environment.step(action)
        total, success = total + reward, bool(info["success"])
    return total, success


def test_a_taxi_reads_in_words_and_is_driven_home_by_its_own_table() -> None:
    taxi = make_environment("gymnasium")
    observation, _ = taxi.reset(seed=3)
    # state 42 is row 0, column 2, passenger at Y (2), destination Y: ((0 * 5 + 2) * 5 + 0) * 4 + 2 has destination Y,
    # so the passenger index is 42 // 4 % 5 = 0, which is R
    assert observation.splitlines()[-3:] == ["Taxi: (0, 2)", "Passenger: at R (0, 0)", "Destination: Y (4, 0)"]
    total, success = played_out(taxi, 3)
    # around the wall to R (two down, two left, two up), pickup, four down to Y: 11 at -1, and 20 for the dropoff
    assert (total, success) == (20 - 11, True)


def test_the_cliff_is_one_problem_whatever_the_seed() -> None:
    cliff = make_environment("gymnasium", env_id="CliffWalking-v1")
    seen = set()
    for seed in range(20):
        cliff.reset(seed=seed)
        seen.add(problem_id(cliff))
    assert len(seen) == 1
    assert played_out(cliff, 1) == (-13.0, True)  # up, eleven to the right, down


def test_success_of_a_pole_is_its_return() -> None:
    pole = make_environment("gymnasium", env_id="CartPole-v1", max_steps=3, success_return=3.0)
    pole.reset(seed=1)
    outcomes = [pole.step(action) for action in (0, 1, 0)]
    assert [info["success"] for *_, info in outcomes] == [False, False, True]
    assert outcomes[-1][2:4] == (False, True)


def test_chance_is_another_seed_than_the_problem() -> None:
    table = make_environment("gymnasium", env_id="Blackjack-v1")
    first, ends = set(), set()
    for chance in range(12):
        first.add(table.reset(seed=5, options={"chance_seed": chance})[0])
        ends.add(table.step(1)[0])
    assert len(first) == 1
    assert len(ends) > 1


def test_text_actions_reach_the_environment_and_others_are_invalid() -> None:
    echo = make_environment("gymnasium", env_id="test/Echo-v0")
    observation, _ = echo.reset(seed=1)
    assert echo.action_names() is None
    assert echo.step("hello, hello")[4]["action_is_valid"] is False  # outside the text space
    secret = observation.rpartition(" ")[2]
    said, reward, over, _, info = echo.step(secret)
    assert (said, reward, over, info["success"]) == (f"you said {secret}", 1.0, True, True)


def test_actions_may_start_anywhere_and_observations_may_be_nested() -> None:
    levers = make_environment("gymnasium", env_id="test/Levers-v0", action_names=["left", "right"])
    observation, _ = levers.reset(seed=1)
    assert observation == "count: 0\npair: [0., 0.]"
    assert levers.step(levers.resolve("RIGHT"))[2] is True


@pytest.mark.parametrize("env_id", ["test/Echo-v0", "test/Levers-v0", "MountainCar-v0", "FrozenLake-v1"])
def test_any_registered_environment_keeps_the_contract(env_id: str) -> None:
    assert check_environment("gymnasium", {"env_id": env_id}, range(3)) == []


def test_an_id_that_is_not_registered_is_refused() -> None:
    with pytest.raises(ValidationError, match="Install the package that registers it"):
        make_environment("gymnasium", env_id="NoSuchThing-v0")


def test_an_id_that_would_import_a_module_is_refused() -> None:
    with pytest.raises(ValidationError, match="env_id"):
        make_environment("gymnasium", env_id="os:Name-v0")


def test_continuous_actions_are_refused_with_what_is_possible() -> None:
    with pytest.raises(ConfigError, match="discrete or text actions"):
        make_environment("gymnasium", env_id="Pendulum-v1")


def test_a_wrong_number_of_names_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"has 6 actions, and parameters\.action_names has 1"):
        make_environment("gymnasium", action_names=["go"])
