"""The environment `spatial`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from pydantic import Field, model_validator

from engine.environments.base import Drawing, Environment, EnvironmentParameters, Info, Reduction, Solution, step_info
from engine.environments.spaces import AnyText
from engine.environments.spatial.actions import Act, degrees, letter, parse
from engine.environments.spatial.generation import OBJECTS, SMALLEST, most_rooms
from engine.environments.spatial.geometry import FACINGS, turned
from engine.environments.spatial.problem import MAKERS, QuestionKind, make_problem
from engine.environments.spatial.questions import Question
from engine.environments.spatial.world import Pose, Thing, World

RIGHT, WRONG, STEP, UNPARSABLE = 10.0, -1.0, -0.1, -1.0
ARROWS = dict(zip(FACINGS, "↑→↓←", strict=True))
REMINDER = "Answer with a list such as Actions: [Rotate(90), Observe()] or Actions: [Term(A)]."


class SpatialParameters(EnvironmentParameters):
    width: int = Field(10, ge=4, le=40, description="Cells from west to east.")
    height: int = Field(10, ge=4, le=40, description="Cells from south to north.")
    level: int = Field(0, ge=0, le=9, description="0 is one room; each level adds one, with a door.")
    main: int = Field(6, ge=4, le=36, description="Cells along a side of a single room.")
    objects: int = Field(3, ge=3, le=len(OBJECTS), description="Objects in all rooms together.")
    questions: tuple[QuestionKind, ...] = Field(
        tuple(MAKERS), min_length=1, description="The kinds of questions, each as frequent as the others."
    )
    exploration_steps: int = Field(
        10, ge=0, le=200, description="Answers for exploring. The episode ends with the one after them."
    )
    repeat_question: bool = Field(
        False, description="Every observation has the question. For contexts that do not keep the first one."
    )

    @model_validator(mode="after")
    def _check_rooms(self) -> SpatialParameters:
        most = most_rooms(self.width, self.height)
        if self.level + 1 > most:
            raise ValueError(
                f"level: {self.level + 1} rooms do not fit into {self.width} x {self.height} cells; rooms have "
                f"{SMALLEST} x {SMALLEST} at least, so at most level {most - 1} does."
            )
        return self


class Spatial(Environment):
    """Exploration of rooms by symbolic views, and one question about them.

    Description:
        Rooms on a grid, with objects that face north, east, south or west, and doors between rooms. The player turns,
        jumps to what it sees, and looks; a view names what is within 45 degrees of ahead in the same room by a
        direction, a distance and a facing, all in words. Then it answers a question of one of ten kinds with one of
        its options. After RAGEN's SpatialGym and Theory of Space (ICLR 2026).

    Actions:
        Free text, one list: moves first, then one final action. `Rotate(d)` turns by 0, 90, 180 or 270 degrees,
        clockwise, or the other way with a minus sign. `JumpTo(name)`, or `Move(name)`, goes to an object or a door
        that has been observed before and is visible now, and keeps the facing. `Return()` goes back to the start.
        `Observe()` gives the view; `Query(name)` the coordinates and the facing of what is visible, seen from the
        start; `Term(C)` answers and stands alone, by the letter of an option or, where that has no parentheses, by
        its words. A move that fails ends the list, and the view follows.

    Observations:
        The names of all objects and the question at the start, then what the final action gives. `render` returns the
        same text until the next step.

    Starting state:
        A free cell of the first room, facing north, with nothing observed. The seed determines rooms, objects and
        question. A fifth of all problems, by their hash, are kept for evaluation.

    Rewards:
        10 for the right answer, -1 for a wrong one, -1 for text that is no list of actions, else -0.1.

    Episode end:
        Terminated by `Term`; truncated after `exploration_steps` + 1 answers, whatever they were.

    Arguments:
        `width`, `height`, `level`, `main`, `objects`, `questions`, `exploration_steps`, `repeat_question`.

    Differences from RAGEN:
        RAGEN ships SpatialGym unregistered. There, text that cannot be read is not counted against the cap, an answer
        has to be the bare letter (here `c`, `C.`, `(C)` and the words of option C are C), `render` returns an
        observation once, and a level that does not fit becomes one room. Questions and options are our own, from the
        published rules; the metric `chance` is the success of guessing.
    """

    kind: ClassVar[str] = "spatial"
    title: ClassVar[str] = "Spatial"
    summary: ClassVar[str] = "Explore rooms by views in words, then answer a question about where things are."
    Config = SpatialParameters
    default_instruction: ClassVar[str] = (
        "Explore the room until you can answer the question, with as few answers as you can. Then answer it."
    )
    default_budget: ClassVar[dict[str, int]] = {
        "max_turns": 11,
        "max_actions_per_turn": 1,
        "max_actions": 11,
        "max_response_tokens": 300,
    }
    separator: ClassVar[str | None] = None
    answer_form: ClassVar[str] = "Actions: [action, ...]"
    info_metrics: ClassVar[Mapping[str, Reduction]] = {"observed": "last", "chance": "last"}
    examples: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "Spatial": {},
        "Spatial two rooms": {
            "parameters": {"level": 1, "objects": 6, "exploration_steps": 15},
            "max_turns": 16,
            "max_actions": 16,
        },
        "Spatial directions": {"parameters": {"questions": ["dir", "pov"]}},
        "Spatial perspective": {
            "parameters": {"questions": ["pov"], "exploration_steps": 7},
            "max_turns": 8,
            "max_actions": 8,
            "max_response_tokens": 60,
        },
    }
    config: SpatialParameters

    def __init__(self, config: SpatialParameters) -> None:
        super().__init__(config)
        self.action_space = AnyText()
        self.observation_space = AnyText(min_length=1)
        self.world: World | None = None
        self.question = Question("", "", (), "")
        self.pose = Pose((0, 0), (0, 1))
        self.observed: set[str] = set()
        self.observation = ""
        self.steps = 0
        self.answer = ""
        self.over = True

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, Info]:
        seed = self.seeded(seed)
        config = self.config
        self.world, self.question = make_problem(
            seed, config.questions, (config.width, config.height), config.level + 1, config.main, config.objects
        )
        self.pose, self.observed = self.world.start, set()
        self.steps, self.answer, self.over = 0, "", False
        self.observation = f"{self._room_text()}\n{self.question}"
        return self.render(), {}

    def step(self, action: str) -> tuple[str, float, bool, bool, Info]:
        text = self.checked_text(action, over=self.over)
        acts = parse(text)
        self.steps += 1
        if isinstance(acts, str):
            self.observation = f"{acts} {REMINDER}"
            return self._outcome(UNPARSABLE, valid=False, effective=False)
        if acts[-1].name == "Term":
            return self._term(acts[-1].argument)
        before = self.pose, set(self.observed)
        problem = self._act(acts)
        effective = (self.pose, self.observed) != before or (not problem and acts[-1].name == "Query")
        return self._outcome(STEP, valid=not problem, effective=effective)

    def _term(self, argument: str) -> tuple[str, float, bool, bool, Info]:
        self.answer = letter(argument) or self.question.letter_of(argument)
        right = self.answer == self.question.answer
        self.observation = f"Your answer is {'right' if right else 'wrong'}."
        return self._outcome(RIGHT if right else WRONG, valid=bool(self.answer), effective=True, answered=True)

    def _outcome(
        self, reward: float, *, valid: bool, effective: bool, answered: bool = False
    ) -> tuple[str, float, bool, bool, Info]:
        truncated = not answered and self.steps > self.config.exploration_steps
        self.over = answered or truncated
        success = answered and self.answer == self.question.answer
        numbers = {"observed": float(len(self.observed)), "chance": 1 / len(self.question.options)}
        info = step_info(valid=valid, effective=effective, success=success, **numbers)
        return self.render(), reward, answered, truncated, info

    def _act(self, acts: list[Act]) -> str:
        """Does the moves and the final action; returns why one of them could not be done, after which the view
        follows."""
        problem = ""
        for act in acts[:-1]:
            problem = self._move(act)
            if problem:
                break
        final = acts[-1]
        if not problem and final.name == "Query":
            answer, problem = self._query(final.argument)
            if not problem:
                self.observation = answer
                return ""
        self.observed |= {thing.name for thing in self._world.visible(self.pose)}
        view = self._world.observation(self.pose)
        self.observation = f"{problem}\n{view}" if problem else view
        return problem

    def _move(self, act: Act) -> str:
        if act.name == "Rotate":
            self.pose = Pose(self.pose.position, turned(self.pose.facing, degrees(act.argument) or 0))
        elif act.name == "Return":
            self.pose = self._world.start
        else:
            thing, problem = self._in_view(act.argument)
            if thing is not None and thing.name not in self.observed:
                return f"{thing.name} has not been observed yet."
            if thing is None:
                return problem
            self.pose = Pose(thing.position, self.pose.facing)
        return ""

    def _query(self, name: str) -> tuple[str, str]:
        """Where a visible thing is from the start, and why that cannot be asked."""
        thing, problem = self._in_view(name)
        if thing is None:
            return "", problem
        start = self._world.start
        x, y = thing.position[0] - start.position[0], thing.position[1] - start.position[1]
        facing = f", facing {FACINGS[thing.facing]}" if thing.facing is not None else ""
        return f"{thing.name}: ({x}, {y}) from the start{facing}", ""

    def _in_view(self, name: str) -> tuple[Thing | None, str]:
        thing = self._world.named(name)
        if thing is None:
            return None, f"There is no {name[:40]}."
        if thing not in self._world.visible(self.pose):
            return None, f"{thing.name} is not in your view."
        return thing, ""

    def action_names(self) -> None:
        return None

    def describe(self) -> str:
        return (
            "Actions: Rotate(90) clockwise, also -90, 180; JumpTo(name) of something observed and in view; Return() to "
            "the start; Observe(); Query(name) for exact coordinates; Term(A), or the words of the option, to answer. "
            "Moves come first, then one of Observe, Query and Term; Term stands alone.\n"
            "You see what is within 45 degrees of ahead, in your room. Directions: front is straight ahead, slight up "
            "to 22.5 degrees. Distances: near up to 2, mid distance 4, slightly far 8, far 16, very far 32. facing "
            "forward is the way you face, facing backward is towards you."
        )

    def render(self) -> str:
        question = f"\n{self.question}" if self.config.repeat_question and self.steps else ""
        return self.observation + question

    def problem(self) -> str:
        return f"{self._world}\n{self.question}"

    def drawing(self) -> Drawing:
        """The map, with north at the top, the player as an arrow, and what was observed marked."""
        world = self._world
        columns = [str(x) for x in range(world.width)]
        rows = [[self._cell((x, y)) for x in range(world.width)] for y in reversed(range(world.height))]
        seen = [thing for thing in world.things if thing.name in self.observed]
        marks = [[world.height - 1 - y, x, "good"] for x, y in (thing.position for thing in seen)]
        x, y = self.pose.position
        marks = [mark for mark in marks if mark[:2] != [world.height - 1 - y, x]]
        marks.append([world.height - 1 - y, x, "new"])
        return {"type": "table", "columns": columns, "rows": rows, "caption": self.question.text, "marks": marks}

    def solution(self) -> Solution:
        if self.over:
            return [] if self.answer == self.question.answer else None
        return [f"Actions: [Term({self.question.answer})]"]

    def random_action(self, rng: np.random.Generator) -> str:
        things = self._world.things
        name = things[int(rng.integers(len(things)))].name
        letters = "ABCD"[: len(self.question.options)]
        choices = [
            "Observe()",
            "Rotate(90), Observe()",
            "Rotate(-90), Observe()",
            f"JumpTo({name}), Observe()",
            f"Query({name})",
            f"Term({letters[int(rng.integers(len(letters)))]})",
        ]
        return f"Actions: [{choices[int(rng.integers(len(choices)))]}]"

    @property
    def _world(self) -> World:
        if self.world is None:
            raise RuntimeError("There is no room yet; call reset first.")
        return self.world

    def _room_text(self) -> str:
        names = ", ".join(sorted(thing.name for thing in self._world.objects))
        if not self._world.doors:
            return f"You are in a room and face north. Objects: {names}."
        doors = ", ".join(sorted(thing.name for thing in self._world.doors))
        rooms = len(self._world.rooms)
        return f"You are in one of {rooms} rooms and face north. Objects: {names}. Doors between rooms: {doors}."

    def _cell(self, point: tuple[int, int]) -> str:
        world = self._world
        here = [
            f"{thing.name} {ARROWS.get(thing.facing or (0, 0), '')}".strip()
            for thing in world.things
            if thing.position == point
        ]
        if point == self.pose.position:
            here.insert(0, f"you {ARROWS[self.pose.facing]}")
        if here:
            return ", ".join(here)
        return "" if world.rooms_at(point) else "#"
