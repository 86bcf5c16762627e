"""ALFWorld's own engine plays games of ours as we do, and a directory of games is played as ALFWorld plays it.

Needs the extra `alfworld`, which brings the domain and the grammar, and no download.
"""

from __future__ import annotations

import json
import os
import random
import re
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from engine.environments import make_environment
from engine.environments.alfworld.catalogue import GOALS
from engine.environments.alfworld.generation import make_household
from engine.environments.alfworld.household_game import HouseholdGame
from engine.environments.alfworld.official import open_game
from engine.environments.base import Environment
from engine.environments.checker import check_environment
from engine.errors import ConfigError
from tests.engine.environments.alfworld_pddl import write_game

pytest.importorskip("textworld", reason="needs the extra alfworld")
pytest.importorskip("fast_downward", reason="needs the extra alfworld")


def write(folder: Path, seed: int) -> HouseholdGame:
    """Writes the household of a seed as a game file, and returns it as ours."""
    house = make_household(seed, "train", "seen", (list(GOALS)[seed % 6],))
    ours = HouseholdGame(house)
    plan = [str(command) for command in ours.plan()]  # type: ignore[union-attr]
    name = f"{house.task.type}-{house.task.object}-None-{house.task.target}-1"
    write_game(house, folder / name / f"trial_{seed}" / "game.tw-pddl", walkthrough=plan)
    return ours


def games(root: Path) -> tuple[Path, ...]:
    return tuple(sorted(root.rglob("game.tw-pddl")))


def words(text: str) -> list[str]:
    """The words in any order, since the engines list objects in different orders."""
    return sorted(re.findall(r"[\w']+", text.replace("and", "")))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6))
def test_its_engine_says_and_allows_what_ours_does(tmp_path: Path, seed: int) -> None:
    ours = write(tmp_path, seed)
    theirs = open_game(games(tmp_path), 0)
    assert words(theirs.feedback) == words("-= Welcome to TextWorld, ALFRED! =-" + ours.feedback)
    assert theirs.goal == ours.goal
    rng = np.random.default_rng(seed)
    while not ours.won():
        assert [
            one for one in theirs.commands() if one in ours.commands() or not is_quirk(one, ours)
        ] == ours.commands()
        choices = ours.plan()[:1] if rng.random() < 0.5 else ours.commands()  # type: ignore[index]
        command = str(choices[int(rng.integers(len(choices)))])
        assert ours.play(command) == theirs.play(command)
        if command != "help" and not (command == "look" and ours.household.at is None):
            assert words(theirs.feedback) == words(ours.feedback), command
    assert theirs.won()
    theirs.close()


def is_quirk(command: str, ours: HouseholdGame) -> bool:
    """ALFWorld lets one slice what is in a closed receptacle. Besides, its `look` from the middle of the room sees
    nothing."""
    return command.startswith("slice") and ours.household.is_closed(str(ours.household.at))


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("alfworld")
    for index, folder in enumerate(("train", "train", "valid_seen", "valid_unseen")):
        write(root / folder, index)
    return root


def play(environment: Environment, commands: list[str]) -> list[float]:
    return [float(environment.step(command)[1]) for command in commands]


@pytest.mark.parametrize(("split", "evaluation", "folder"), [("held_out", "seen", 2), ("held_out", "unseen", 3)])
def test_evaluation_reads_the_folder_of_its_split(data: Path, split: str, evaluation: str, folder: int) -> None:
    environment = make_environment("alfworld", data=str(data), evaluation=evaluation)
    observation, _ = environment.reset(seed=5, options={"split": split})
    assert make_household(folder, "train", "seen", (list(GOALS)[folder],)).task.goal in observation
    environment.close()


def test_the_walkthrough_of_each_file_wins_ten_points_with_its_last_command(data: Path) -> None:
    environment = make_environment("alfworld", data=str(data))
    for seed in range(2):
        environment.reset(seed=seed)
        walkthrough = environment.solution()
        rewards = play(environment, walkthrough)  # type: ignore[arg-type]
        assert rewards == [0.0] * (len(rewards) - 1) + [10.0]
    environment.close()


def test_off_the_walkthrough_the_planner_finds_another_way(data: Path) -> None:
    environment = make_environment("alfworld", data=str(data))
    environment.reset(seed=0)
    walkthrough = list(environment.solution())  # type: ignore[arg-type]
    play(environment, [walkthrough[0], "go to garbagecan 1"])
    assert environment.solution()[0] == walkthrough[0]  # type: ignore[index]
    assert play(environment, list(environment.solution()))[-1] == 10.0  # type: ignore[arg-type]
    environment.close()


def test_games_in_two_threads_do_not_disturb_each_other_nor_the_process(data: Path) -> None:
    arguments, shown = list(sys.argv), sys.stdout

    def win(seed: int) -> float:
        environment = make_environment("alfworld", data=str(data))
        environment.reset(seed=seed)
        rewards = play(environment, list(environment.solution()))  # type: ignore[arg-type]
        environment.close()
        return rewards[-1]

    with ThreadPoolExecutor(2) as threads:
        assert list(threads.map(win, (0, 1))) == [10.0, 10.0]
    assert (sys.argv, sys.stdout) == (arguments, shown)


@pytest.mark.slow
def test_it_keeps_our_contract(data: Path) -> None:
    assert check_environment("alfworld", {"data": str(data)}, seeds=[0]) == []


@pytest.mark.slow
@pytest.mark.skipif("ALFWORLD_DATA" not in os.environ, reason="needs ALFWorld's data, and ALFWORLD_DATA to name it")
@pytest.mark.parametrize("seed", range(10))
def test_the_walkthroughs_of_alfworlds_own_data_win(seed: int) -> None:
    environment = make_environment("alfworld", data=os.environ["ALFWORLD_DATA"])
    environment.reset(seed=seed * 331)  # games of all six tasks
    assert play(environment, list(environment.solution()))[-1] == 10.0  # type: ignore[arg-type]
    environment.close()


def test_what_is_written_is_compared_after_case_articles_and_spaces(data: Path) -> None:
    environment = make_environment("alfworld", data=str(data))
    environment.reset(seed=0)
    first = str(environment.solution()[0])  # type: ignore[index]
    _, _, _, _, info = environment.step(f"  {first.upper().replace('TO ', 'to  the ')}. ")
    assert info["action_is_valid"]
    observation, _, _, _, info = environment.step("fly away")
    assert observation.startswith("Nothing happens.") and not info["action_is_valid"]
    environment.close()


def test_games_that_are_not_known_to_be_solvable_are_passed_over(tmp_path: Path) -> None:
    write(tmp_path / "train", 0)
    path = games(tmp_path)[0]
    path.write_text(json.dumps({**json.loads(path.read_text()), "solvable": False}))
    environment = make_environment("alfworld", data=str(tmp_path))
    with pytest.raises(ConfigError, match="None of the 1 games"):
        environment.reset(seed=0)


def test_a_file_that_is_no_game_is_named(tmp_path: Path) -> None:
    path = tmp_path / "train" / "look_at_obj_in_light-mug-None-desklamp-1" / "trial_1" / "game.tw-pddl"
    path.parent.mkdir(parents=True)
    for text, reason in (("no json", "is not a game of ALFWorld"), ("{}", "has no grammar, pddl_domain, pddl_problem")):
        path.write_text(text)
        with pytest.raises(ConfigError, match=re.escape(f"{path} {reason}")):
            make_environment("alfworld", data=str(tmp_path)).reset(seed=0)


def test_the_global_generators_are_left_alone(data: Path) -> None:
    before = random.getstate()
    environment = make_environment("alfworld", data=str(data))
    environment.reset(seed=0)
    environment.step("look")
    assert random.getstate() == before
    environment.close()
