"""The environment `alfworld`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from pydantic import Field

from engine.environments.alfworld.catalogue import GOALS, TaskType
from engine.environments.alfworld.generation import Evaluation, make_household
from engine.environments.alfworld.household_game import HouseholdGame
from engine.environments.alfworld.official import find_games, open_game
from engine.environments.base import Split, server_file
from engine.environments.command_game import CommandEnvironment, CommandGame, CommandParameters


class AlfworldParameters(CommandParameters):
    data: str = server_file(
        "The directory of ALFWorld's games, such as ~/.cache/alfworld/json_2.1.1. Empty: households that are made "
        "here, which are not ALFWorld's."
    )
    evaluation: Evaluation = Field(
        "seen",
        description="What evaluation has: other tasks in rooms of training (seen), or other rooms (unseen). Of "
        "ALFWorld's games: valid_seen or valid_unseen.",
    )
    tasks: tuple[TaskType, ...] = Field(tuple(GOALS), min_length=1, description="The types of tasks that are drawn.")


class Alfworld(CommandEnvironment):
    """Household tasks by text commands.

    Description:
        A room with receptacles, which may be closed, and objects in or on them. The task is one of six types: put an
        object somewhere; hold it under a lamp that is on; clean, heat or cool it and put it somewhere; put two of a
        kind in one receptacle. Without `data` the households are made here from the seed: 30 floor plans for each of
        four rooms, with the commands, the sentences and the rules of ALFWorld 0.4, but none of its data, so that
        results are not comparable with published ones. With `data` these are ALFWorld's own games (arXiv 2010.03768),
        played by its own engine; that needs the extra `alfworld`.

    Actions:
        Free text, one command: `go to R`, `open R`, `close R`, `take O from R`, `move O to R`, `examine R`,
        `examine O`, `use O`, `heat O with R`, `clean O with R`, `cool O with R`, `slice O with O`, `look`,
        `inventory`, `help`. It is compared with the admissible commands after case, spaces, articles and a final full
        stop are normalised, and `put O in/on R` is `move O to R`. Any other text is answered by "Nothing happens.",
        and `action_is_valid` is False.

    Observations:
        What the command did, and with `list_commands` the admissible commands. With `repeat_task` the task too.

    Starting state:
        The middle of the room, with empty hands. Every problem can be solved, and is not solved at the start. In
        training there are 24 floor plans of each room and four fifths of the combinations of task, object and
        receptacle; evaluation has the other combinations (`seen`) or the other 6 floor plans (`unseen`).

    Rewards:
        10 when the task is done, else 0.

    Episode end:
        Terminated when the task is done; truncated after `max_steps` commands, admissible or not.

    Arguments:
        `data`, `evaluation`, `tasks`, `max_steps`, `list_commands`, `repeat_task`.

    Differences from RAGEN:
        RAGEN needs ALFWorld's data, takes only commands that match letter by letter, and reports every command as
        effective; here `look`, `inventory`, `examine` and `help` are not. Which game a seed gets does not depend on
        the process.
    """

    kind: ClassVar[str] = "alfworld"
    title: ClassVar[str] = "ALFWorld"
    summary: ClassVar[str] = "Find, treat and place household objects by text commands."
    Config = AlfworldParameters
    default_instruction: ClassVar[str] = (
        "You act in a household by text commands. Do the task that the first message states, one command at a time."
    )
    default_budget: ClassVar[dict[str, int]] = {
        "max_turns": 50,
        "max_actions_per_turn": 1,
        "max_actions": 50,
        "max_response_tokens": 512,
    }
    split_by = "own"
    reward_of_score: ClassVar[float] = 10.0
    examples: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "Alfworld": {},
        "AlfworldOOD": {"parameters": {"evaluation": "unseen"}},
        "Alfworld pick and place": {"parameters": {"tasks": ["pick_and_place_simple"]}, "max_turns": 20},
    }
    config: AlfworldParameters

    def start_game(self, seed: int, split: Split) -> CommandGame:
        config = self.config
        if config.data:
            return open_game(find_games(config.data, split, config.evaluation, config.tasks), seed)
        return HouseholdGame(make_household(seed, split, config.evaluation, config.tasks))

    def describe(self) -> str:
        return (
            "Receptacles and objects have numbers, such as drawer 2. Commands: go to R, open R, close R, "
            "take O from R, move O to R, examine R, use O, heat O with R, clean O with R, cool O with R, look, "
            "inventory."
        )
