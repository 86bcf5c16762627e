"""TextWorld's own games, made and played here. Needs the extra `alfworld`; nothing is downloaded."""

from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from gymnasium.utils.env_checker import check_env
from pydantic import ValidationError

from engine.environments import environment_class, make_environment
from engine.environments.base import Environment
from engine.environments.checker import check_environment
from engine.environments.textworld.making import _remove_oldest, game_file
from engine.errors import ConfigError

installed = pytest.mark.skipif(find_spec("textworld") is None, reason="needs the extra alfworld")


@pytest.fixture(scope="module", autouse=True)
def cache(tmp_path_factory: pytest.TempPathFactory) -> Any:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        yield


def win(environment: Environment) -> list[float]:
    """The rewards of the commands that win."""
    rewards: list[float] = []
    for command in list(environment.solution()):  # type: ignore[arg-type]
        _, reward, terminated, _, info = environment.step(command)
        rewards.append(float(reward))
    assert terminated and info["success"]
    return rewards


@installed
@pytest.mark.slow
@pytest.mark.parametrize("game", ["simple", "coin_collector", "treasure_hunter", "cooking"])
def test_each_challenge_makes_games_that_are_won_with_a_return_of_1(game: str) -> None:
    environment = make_environment("textworld", game=game, games=1)
    starts = [environment.reset(seed=3, options={"split": split})[0] for split in ("train", "held_out")]
    assert starts[0] != starts[1]
    assert "$" not in starts[0] and "Admissible commands: " in starts[0]  # no banner
    environment.reset(seed=3)
    assert sum(win(environment)) == pytest.approx(1.0)
    environment.close()


@installed
@pytest.mark.slow
def test_it_keeps_our_contract_and_gymnasiums() -> None:
    assert check_environment("textworld", {"games": 2, "level": 2}, seeds=range(2)) == []
    check_env(make_environment("textworld", games=1, level=2), skip_render_check=True)


@installed
@pytest.mark.slow
def test_another_process_with_another_hash_seed_makes_the_same_game(tmp_path: Path) -> None:
    script = (
        "from engine.environments import make_environment\n"
        "print(make_environment('textworld', game='treasure_hunter', level=3).reset(seed=5)[0])"
    )
    texts = []
    for salt in ("1", "2"):
        changed = {"PYTHONHASHSEED": salt, "XDG_CACHE_HOME": str(tmp_path / salt)}
        texts.append(subprocess.check_output([sys.executable, "-c", script], env={**os.environ, **changed}, text=True))
    assert texts[0] == texts[1]


@installed
@pytest.mark.slow
def test_games_in_two_threads_do_not_disturb_each_other() -> None:
    def total(seed: int) -> float:
        environment = make_environment("textworld", games=2, level=3)
        environment.reset(seed=seed)
        rewards = win(environment)
        environment.close()
        return sum(rewards)

    with ThreadPoolExecutor(2) as threads:
        assert list(threads.map(total, (0, 1, 0, 1))) == [1.0] * 4


@installed
@pytest.mark.slow
def test_a_game_is_made_once() -> None:
    path = game_file("coin_collector", {"level": 2}, 7)
    written = path.stat().st_mtime_ns
    assert game_file("coin_collector", {"level": 2}, 7) == path and path.stat().st_mtime_ns == written
    assert sorted(one.name for one in path.parent.iterdir()) == ["game.json", "game.z8"]
    assert not [one for one in path.parent.parent.iterdir() if one.name.startswith("making-")]


def test_the_oldest_games_are_removed(tmp_path: Path) -> None:
    for age in range(4):
        (tmp_path / str(age)).mkdir()
        os.utime(tmp_path / str(age), (1000 - age, 1000 - age))
    _remove_oldest(tmp_path, keep=2)
    assert sorted(one.name for one in tmp_path.iterdir()) == ["0", "1"]


@pytest.mark.parametrize(
    ("parameters", "reason"),
    [
        ({"level": 151}, "level: 151 has 102 rooms; choose 1 to 100, 101 to 150 or 201 to 233"),
        ({"game": "treasure_hunter", "level": 31}, "treasure_hunter has levels 1 to 30, not 31"),
        ({"game": "cooking", "ingredients": 2, "take": 3}, "the recipe has 2 ingredients; 3 cannot be found"),
    ],
)
def test_games_that_cannot_be_made_are_refused(parameters: dict[str, Any], reason: str) -> None:
    with pytest.raises(ValidationError, match=reason):
        make_environment("textworld", **parameters)


@pytest.mark.skipif(find_spec("textworld") is not None, reason="the extra is installed")
def test_without_the_extra_it_is_named() -> None:
    with pytest.raises(ConfigError, match=r"need textworld.*pip install 'starboard\[alfworld\]'"):
        make_environment("textworld").reset(seed=1)


def test_it_is_registered_with_what_it_needs() -> None:
    assert environment_class("textworld").needs == "the extra alfworld"
