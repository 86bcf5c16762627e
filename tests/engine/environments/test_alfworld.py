"""ALFWorld's tasks in households of our own: commands, rules, sentences, the expert, and which problems are kept."""

from __future__ import annotations

from collections import deque
from copy import deepcopy
from typing import Any

import numpy as np
import pytest

from engine.environments import make_environment
from engine.environments.alfworld import Alfworld
from engine.environments.alfworld.catalogue import FITS, FOUND_IN, GOALS, OPENABLE, ROOMS, TREATABLE, TaskType, type_of
from engine.environments.alfworld.expert import plan
from engine.environments.alfworld.generation import make_household
from engine.environments.alfworld.household import Household, Task, listed
from engine.environments.alfworld.household_game import HouseholdGame
from engine.environments.command_game import admissible, normalized
from engine.errors import ConfigError

TASKS = tuple(GOALS)
KITCHEN: tuple[str, ...] = ("countertop 1", "cabinet 1", "fridge 1", "microwave 1", "sinkbasin 1")


def alfworld(**parameters: Any) -> Alfworld:
    environment = make_environment("alfworld", **parameters)
    assert isinstance(environment, Alfworld)
    return environment


def household(task: Task, contents: dict[str, str], receptacles: tuple[str, ...] = KITCHEN) -> Household:
    house = Household("kitchen", receptacles, task, dict(contents))
    house.start()
    return house


def play(house: Household, *commands: str) -> list[str]:
    """What each command says; each has to be admissible."""
    said = []
    for command in commands:
        assert command in house.commands(), (command, house.commands())
        house.play(command)
        said.append(house.feedback)
    return said


HOT_MUG = Task("pick_heat_then_place_in_recep", "mug", "cabinet")


def test_the_start_lists_the_receptacles_and_the_task() -> None:
    house = household(HOT_MUG, {"mug 1": "fridge 1"})
    assert house.feedback == (
        "You are in the middle of a room. Looking quickly around you, you see a countertop 1, a cabinet 1, a fridge 1, "
        "a microwave 1, and a sinkbasin 1.\n\nYour task is to: put a hot mug in cabinet."
    )
    assert house.commands() == [*(f"go to {name}" for name in sorted(KITCHEN)), "help", "inventory", "look"]


def test_a_task_from_start_to_end_in_the_sentences_of_alfworld() -> None:
    house = household(HOT_MUG, {"mug 1": "fridge 1", "apple 1": "fridge 1", "plate 1": "countertop 1"})
    assert play(
        house,
        "go to countertop 1",
        "go to fridge 1",
        "look",
        "open fridge 1",
        "take mug 1 from fridge 1",
        "inventory",
        "examine mug 1",
        "close fridge 1",
        "go to microwave 1",
        "heat mug 1 with microwave 1",
        "examine mug 1",
        "go to cabinet 1",
        "open cabinet 1",
        "move mug 1 to cabinet 1",
        "inventory",
    ) == [
        "You arrive at countertop 1. On the countertop 1, you see a plate 1.",
        "You arrive at fridge 1. The fridge 1 is closed.",
        "You are facing the fridge 1. Next to it, you see nothing.",
        "You open the fridge 1. The fridge 1 is open. In it, you see a apple 1, and a mug 1.",
        "You pick up the mug 1 from the fridge 1.",
        "You are carrying: a mug 1.",
        "There's nothing special about mug 1.",
        "You close the fridge 1.",
        "You arrive at microwave 1. The microwave 1 is closed.",
        "You heat the mug 1 using the microwave 1.",
        "This is a hot mug 1.",
        "You arrive at cabinet 1. The cabinet 1 is closed.",
        "You open the cabinet 1. The cabinet 1 is open. In it, you see nothing.",
        "You move the mug 1 to the cabinet 1.",
        "You are not carrying anything.",
    ]
    assert house.won()


def test_one_object_at_a_time_is_held_and_only_what_is_in_reach_is_taken() -> None:
    house = household(HOT_MUG, {"mug 1": "fridge 1", "plate 1": "countertop 1", "fork 1": "countertop 1"})
    play(house, "go to fridge 1")
    assert "take mug 1 from fridge 1" not in house.commands()  # closed
    play(house, "open fridge 1", "take mug 1 from fridge 1", "go to countertop 1")
    assert not [one for one in house.commands() if one.startswith("take")]
    assert "move mug 1 to countertop 1" in house.commands()
    play(house, "go to cabinet 1")
    assert "move mug 1 to cabinet 1" not in house.commands()  # closed


def test_an_object_is_put_only_where_its_type_fits() -> None:
    house = household(HOT_MUG, {"bread 1": "countertop 1", "mug 1": "fridge 1"})
    play(house, "go to countertop 1", "take bread 1 from countertop 1", "go to sinkbasin 1")
    assert not [one for one in house.commands() if one.startswith("move")]
    assert "sinkbasin" not in FITS["bread"]


def test_heating_undoes_cooling_and_neither_undoes_cleaning() -> None:
    house = household(HOT_MUG, {"mug 1": "countertop 1"})
    play(
        house, "go to countertop 1", "take mug 1 from countertop 1", "go to sinkbasin 1", "clean mug 1 with sinkbasin 1"
    )
    said = play(house, "go to fridge 1", "cool mug 1 with fridge 1", "examine mug 1")
    assert said[-1] == "This is a cool and clean mug 1."
    said = play(house, "go to microwave 1", "heat mug 1 with microwave 1", "examine mug 1")
    assert said[-1] == "This is a hot and clean mug 1."


def test_only_a_cold_object_is_called_cold() -> None:
    house = household(HOT_MUG, {"mug 1": "countertop 1"})
    said = play(
        house,
        "go to countertop 1",
        "take mug 1 from countertop 1",
        "go to fridge 1",
        "cool mug 1 with fridge 1",
        "examine mug 1",
    )
    assert said[-1] == "This is a cold mug 1."


def test_a_knife_slices_what_lies_open() -> None:
    house = household(
        HOT_MUG, {"mug 1": "fridge 1", "knife 1": "countertop 1", "apple 1": "countertop 1", "bread 1": "fridge 1"}
    )
    play(house, "go to countertop 1", "take knife 1 from countertop 1", "slice apple 1 with knife 1", "go to fridge 1")
    assert not [one for one in house.commands() if one.startswith("slice")]
    play(house, "go to countertop 1", "move knife 1 to countertop 1", "take apple 1 from countertop 1")
    assert play(house, "examine apple 1") == ["This is a sliced apple 1."]


def test_looking_needs_the_object_in_hand_where_a_lamp_is_on() -> None:
    rooms = ("desk 1", "bed 1")
    house = household(
        Task("look_at_obj_in_light", "book", "desklamp"), {"book 1": "bed 1", "desklamp 1": "desk 1"}, rooms
    )
    assert play(house, "go to desk 1", "use desklamp 1")[-1] == "You turn on the desklamp 1."
    assert "take desklamp 1 from desk 1" not in house.commands()
    assert not house.won()
    play(house, "go to bed 1", "take book 1 from bed 1")
    assert not house.won()  # the lamp is elsewhere
    play(house, "go to desk 1")
    assert house.won()


def test_two_objects_count_only_in_one_receptacle() -> None:
    rooms = ("shelf 1", "shelf 2", "desk 1")
    contents = {"pen 1": "desk 1", "pen 2": "desk 1"}
    house = household(Task("pick_two_obj_and_place", "pen", "shelf"), contents, rooms)
    play(house, "go to desk 1", "take pen 1 from desk 1", "go to shelf 1", "move pen 1 to shelf 1", "go to desk 1")
    play(house, "take pen 2 from desk 1", "go to shelf 2", "move pen 2 to shelf 2")
    assert not house.won()
    play(house, "take pen 2 from shelf 2", "go to shelf 1", "move pen 2 to shelf 1")
    assert house.won()


def test_a_treated_object_counts_only_after_its_treatment() -> None:
    house = household(HOT_MUG, {"mug 1": "countertop 1"})
    play(house, "go to countertop 1", "take mug 1 from countertop 1", "go to cabinet 1", "open cabinet 1")
    play(house, "move mug 1 to cabinet 1")
    assert not house.won()


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("Go To  Fridge 1", "go to fridge 1"),
        (" go to the fridge 1.\n", "go to fridge 1"),
        ("take a mug 1 from the countertop 1", "take mug 1 from countertop 1"),
        ("put mug 1 in/on cabinet 1", "move mug 1 to cabinet 1"),
        ("put the mug 1 in cabinet 1", "move mug 1 to cabinet 1"),
        ("put mug 1 on cabinet 1", "move mug 1 to cabinet 1"),
    ],
)
def test_case_spaces_articles_and_the_older_put_make_no_difference(written: str, meant: str) -> None:
    assert normalized(written) == normalized(meant)
    assert admissible(written, ["look", meant]) == meant


def test_a_game_with_the_older_put_takes_both_wordings() -> None:
    assert admissible("move mug 1 to cabinet 1", ["put mug 1 in/on cabinet 1"]) == "put mug 1 in/on cabinet 1"


@pytest.mark.parametrize("text", ["go to moon 1", "fridge 1", "", "go to fridge", "look " * 10_000])
def test_what_is_not_admissible_does_nothing_and_says_so(text: str) -> None:
    environment = alfworld()
    environment.reset(seed=1)
    before = environment.drawing()
    observation, reward, terminated, _, info = environment.step(text)
    assert observation.startswith("Nothing happens.\nAdmissible commands: go to")
    assert (reward, terminated, environment.drawing()) == (0.0, False, before)
    assert info == {"action_is_valid": False, "action_is_effective": False, "success": False}


def test_looking_is_valid_and_changes_nothing() -> None:
    environment = alfworld()
    environment.reset(seed=1)
    for command in ("look", "inventory", "help"):
        *_, info = environment.step(command)
        assert (info["action_is_valid"], info["action_is_effective"]) == (True, False)
    *_, info = environment.step("go to garbagecan 1")
    assert info["action_is_effective"]


def test_the_task_done_earns_10_and_ends_the_episode() -> None:
    environment = alfworld()
    for seed in range(20):
        environment.reset(seed=seed)
        solution = environment.solution()
        assert isinstance(solution, list)
        results = [environment.step(command) for command in solution]
        assert [reward for _, reward, *_ in results] == [0.0] * (len(solution) - 1) + [10.0]
        assert [terminated for _, _, terminated, *_ in results] == [False] * (len(solution) - 1) + [True]
        assert results[-1][4]["success"] and environment.solution() == []


def test_the_episode_is_cut_after_its_steps_admissible_or_not() -> None:
    environment = alfworld(max_steps=3)
    environment.reset(seed=1)
    ends = [environment.step(command)[2:4] for command in ("look", "nonsense", "look")]
    assert ends == [(False, False), (False, False), (False, True)]
    assert environment.solution() is None


def test_observations_list_the_commands_and_the_task_if_asked_to() -> None:
    plain, listed_too, task = alfworld(list_commands=False), alfworld(), alfworld(list_commands=False, repeat_task=True)
    texts = []
    for environment in (plain, listed_too, task):
        first = environment.reset(seed=1)[0]
        assert first.count("Your task is to: ") == 1
        texts.append(environment.step("look")[0])
    assert texts[1] == f"{texts[0]}\nAdmissible commands: {', '.join(listed_too.commands)}."
    assert texts[2] == f"{texts[0]}\nYour task is to: {task.game.goal}."  # type: ignore[union-attr]


@pytest.mark.parametrize("kind", TASKS)
@pytest.mark.parametrize(("split", "evaluation"), [("train", "seen"), ("held_out", "seen"), ("held_out", "unseen")])
def test_every_problem_can_be_solved_and_is_not_solved_yet(kind: TaskType, split: Any, evaluation: Any) -> None:
    for seed in range(40):
        house = make_household(seed, split, evaluation, (kind,))
        game = HouseholdGame(house)
        assert house.task.type == kind and not game.won()
        for command in game.plan():  # type: ignore[union-attr]
            assert command in game.commands()
            game.play(str(command))
        assert game.won()


def test_the_split_keeps_combinations_or_floor_plans() -> None:
    def problems(split: Any, evaluation: Any) -> list[Household]:
        return [make_household(seed, split, evaluation, TASKS) for seed in range(400)]

    def combinations(houses: list[Household]) -> set[tuple[str, ...]]:
        return {(house.task.type, house.task.object, house.task.target) for house in houses}

    train, seen, unseen = problems("train", "seen"), problems("held_out", "seen"), problems("held_out", "unseen")
    assert not combinations(train) & combinations(seen)
    plans = [{house.receptacles for house in houses} for houses in (train, seen, unseen)]
    assert len(plans[1] - plans[0]) < len(plans[1]) / 4  # of the same 96 floor plans
    assert not (plans[0] | plans[1]) & plans[2]


def test_evaluation_of_an_environment_follows_its_option() -> None:
    environment = alfworld()
    assert environment.reset(seed=4)[0] != environment.reset(seed=4, options={"split": "held_out"})[0]


def test_almost_all_seeds_are_different_problems() -> None:
    environment = alfworld()
    found = set()
    for seed in range(200):
        environment.reset(seed=seed)
        found.add(environment.problem())
    assert len(found) == 200


def test_every_name_in_the_catalogue_has_a_home() -> None:
    receptacles = {name for room in ROOMS.values() for name in room}
    assert receptacles >= OPENABLE
    assert {home for homes in FITS.values() for home in homes} <= receptacles
    objects = {name for names in FOUND_IN.values() for name in names} | {"desklamp"}
    assert objects == set(FITS)
    assert all(names <= objects for names in TREATABLE.values())
    for room, names in FOUND_IN.items():
        assert all(set(FITS[name]) & set(ROOMS[room]) for name in names), room


def shortest(house: Household, most: int) -> int:
    """The number of commands to the goal, by breadth-first search over all of them."""
    queue = deque([(house, 0)])
    seen = set()
    while queue:
        now, length = queue.popleft()
        if now.won():
            return length
        if length == most:
            continue
        for command in now.commands():
            if command.split()[0] not in ("look", "help", "inventory", "examine", "close"):
                after = deepcopy(now)
                after.play(command)
                kept = sorted(after.contents.items()), sorted(after.opened), sorted(after.treated), sorted(after.used)
                state = (after.at, after.held, str(kept))
                if state not in seen:
                    seen.add(state)
                    queue.append((after, length + 1))
    raise AssertionError("there is no way to the goal")


@pytest.mark.parametrize("kind", TASKS)
def test_no_way_is_shorter_than_the_experts(kind: TaskType) -> None:
    target = {"look_at_obj_in_light": "desklamp"}.get(kind, "cabinet")
    rooms = KITCHEN
    if kind == "look_at_obj_in_light":
        rooms = ("desk 1", "drawer 1", "countertop 1")
    if kind == "pick_two_obj_and_place":
        rooms = ("countertop 1", "cabinet 1", "sinkbasin 1")
    homes = [name for name in rooms if type_of(name) in FITS["mug"] and type_of(name) != target]
    rng = np.random.default_rng(3)
    for _ in range(4):
        contents = {f"mug {n}": homes[int(rng.integers(len(homes)))] for n in (1, 2)}
        contents |= {"desklamp 1": "desk 1"} if target == "desklamp" else {"fork 1": "countertop 1"}
        house = household(Task(kind, "mug", target), contents, rooms)
        for _ in range(int(rng.integers(6))):  # somewhere on the way, with something in hand
            commands = house.commands()
            house.play(commands[int(rng.integers(len(commands)))])
        expert = plan(house)
        assert len(expert) == shortest(house, len(expert))


def test_what_is_in_hand_and_not_wanted_is_put_down_first() -> None:
    house = household(HOT_MUG, {"mug 1": "countertop 1", "fork 1": "sinkbasin 1"})
    play(house, "go to sinkbasin 1", "take fork 1 from sinkbasin 1")
    # the fork fits into the sink, here, and onto the countertop, where the mug is
    assert plan(house)[0] in ("move fork 1 to sinkbasin 1", "go to countertop 1")
    assert len(plan(house)) == 8  # go, move, take, go, heat, go, open, move


def test_lists_are_written_as_alfworld_writes_them() -> None:
    assert [listed(names) for names in ([], ["pen 1"], ["pen 2", "pen 1"], ["a 1", "b 1", "c 1"])] == [
        "nothing",
        "a pen 1",
        "a pen 2, and a pen 1",
        "a a 1, a b 1, and a c 1",
    ]


def test_a_directory_without_games_is_refused_with_what_makes_them(tmp_path: Any) -> None:
    environment = alfworld(data=str(tmp_path))
    with pytest.raises(ConfigError, match=r"no game.tw-pddl .*alfworld-download makes it"):
        environment.reset(seed=1)
