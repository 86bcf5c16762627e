"""The models that ship: what each imitated, its size, and what its card measures."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from engine.models.tiny.fresh_cubes import CORNER_LINES, TURN_WORDS
from engine.models.tiny.seen_rooms import ROOM_PHRASES
from engine.rollout.context_windows import LastTurns


@dataclass(frozen=True, slots=True, kw_only=True)
class MixComponent:
    """An environment of the imitation data and its share. `random_share`: of the players' moves; None is the
    recipe's."""

    share: float
    config: dict[str, Any]
    random_share: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """How a model is made. `name` is its path in a configuration."""

    name: str
    title: str
    imitated: str  # names of its environments, for the card
    mix: tuple[MixComponent, ...]
    measured: tuple[dict[str, Any], ...]  # environments of the card
    random_share: float = 0.4  # of the scripted players' moves
    passes: tuple[int, ...] = (49152,)  # episodes to imitate; each pass has a learning rate schedule of its own
    max_context_tokens: int = 1024
    window: LastTurns | None = None  # what the model sees of earlier turns; None: all of them
    rows_per_update: int = 64
    prompt_tokens: bool = False  # each line of the system prompts is a token
    phrases: tuple[str, ...] = ()  # further texts that are one token each
    split_lines: bool = False  # no token has a line break and something else
    layers: int = 2
    half_precision: bool = False  # weights are stored in bfloat16

    @property
    def episodes(self) -> int:
        return sum(self.passes)


def _lake(share: float, turn: int = 2, **parameters: Any) -> MixComponent:
    return MixComponent(
        share=share,
        config={
            "kind": "frozen_lake",
            "parameters": parameters,
            "max_actions_per_turn": turn,
            "max_response_tokens": 60,
        },
    )


def _sokoban(share: float, turn: int = 2, **parameters: Any) -> MixComponent:
    return MixComponent(
        share=share,
        config={"kind": "sokoban", "parameters": parameters, "max_actions_per_turn": turn, "max_response_tokens": 60},
    )


def _bandit(share: float, **parameters: Any) -> MixComponent:
    """All names and what they suggest, those of evaluation too, as any language model knows them; the choice is
    random, so nothing says which arm pays more."""
    return MixComponent(share=share, config={"kind": "bandit", "parameters": parameters}, random_share=1.0)


# The weights that ship as `tiny` are of an earlier version of this recipe; their card has the differences.
TINY = Recipe(
    name="tiny",
    title="Starboard tiny",
    rows_per_update=24,
    phrases=tuple(f" {digit}" for digit in range(10)),  # in coordinates
    split_lines=True,
    imitated="Bandit, FrozenLake and Sokoban",
    mix=(
        _lake(0.44),
        _lake(0.08, turn=1),
        _lake(0.04, turn=3),
        _lake(0.04, success_rate=0.8),
        _lake(0.03, format="grid_and_coordinates"),
        _lake(0.03, format="coordinates"),
        _sokoban(0.20),
        _sokoban(0.04, turn=1),
        _sokoban(0.03, turn=4),
        _sokoban(0.02, format="grid_and_coordinates"),
        MixComponent(share=0.04, config={"kind": "bandit"}),
        MixComponent(share=0.01, config={"kind": "bandit", "parameters": {"reversed": True}}),
    ),
    measured=(
        {"kind": "frozen_lake", "tag": "FrozenLake"},
        {"kind": "frozen_lake", "tag": "FrozenLake, slippery (0.8)", "parameters": {"success_rate": 0.8}},
        {"kind": "sokoban", "tag": "Sokoban"},
    ),
)

SOKOBAN = Recipe(
    name="tiny-sokoban",
    title="Starboard tiny Sokoban",
    imitated="Sokoban",
    mix=(_sokoban(1.0),),
    measured=({"kind": "sokoban", "tag": "Sokoban"},),
    phrases=tuple(f" {digit}" for digit in range(10)),
    random_share=0.3,
    passes=(32768,),
    rows_per_update=16,
    split_lines=True,
    prompt_tokens=True,
    half_precision=True,
)

BANDIT = Recipe(
    name="tiny-bandit",
    title="Starboard tiny bandit",
    imitated="Bandit",
    mix=(_bandit(0.5), _bandit(0.4, split="test"), _bandit(0.1, reversed=True)),
    measured=({"kind": "bandit", "tag": "Bandit"},),
    random_share=1.0,
    passes=(16384,),
    prompt_tokens=True,
    half_precision=True,
)


def _example(kind: str, name: str) -> dict[str, Any]:
    """The configuration of an environment's example."""
    from engine.environments.registry import environment_class

    return {"kind": kind, "tag": name, **environment_class(kind).examples[name]}


def _part(share: float, kind: str, name: str, *, random_share: float | None = None, **changed: Any) -> MixComponent:
    """An example; `changed` are parameters."""
    config = _example(kind, name)
    config = {**config, "parameters": {**config.get("parameters", {}), **changed}}
    return MixComponent(share=share, config=config, random_share=random_share)


COUNTDOWN = ("countdown", "Countdown three numbers")
QUESTIONS = ("static", "StaticQA small numbers")
WORD_PROBLEMS = ("metamathqa", "MetamathQA small numbers")
SUDOKU = ("sudoku", "Sudoku 4x4 three empty")
CUBE = ("rubiks_cube", "Rubik's cube two turns")
FIVE_TURNS = ("rubiks_cube", "Rubik's cube five turns")
GAME_2048 = ("game_2048", "2048 2x2 to 16")
PERSPECTIVE = ("spatial", "Spatial perspective")

ARITHMETIC = Recipe(
    name="tiny-arithmetic",
    title="Starboard tiny arithmetic",
    imitated="Countdown, arithmetic questions and word problems of one step, both with small numbers",
    mix=(
        _part(0.32, *COUNTDOWN),
        _part(0.04, "countdown", "Countdown two numbers"),
        MixComponent(
            share=0.32,
            config={**_example(*QUESTIONS), "kind": "engine.models.tiny.named_choices:NamedChoices"},
            random_share=0.5,
        ),
        _part(0.32, *WORD_PROBLEMS, random_share=0.5),
    ),
    measured=(_example(*COUNTDOWN), _example(*QUESTIONS), _example(*WORD_PROBLEMS)),
    random_share=0.25,
    passes=(49152, 32768, 32768),
    rows_per_update=32,
    layers=3,
    phrases=tuple(str(number) for number in range(10, 1000)),
    prompt_tokens=True,
    split_lines=True,
    half_precision=True,
)

BOARDS = Recipe(
    name="tiny-boards",
    title="Starboard tiny boards",
    imitated="Sudoku, Rubik's cube and 2048",
    mix=(
        _part(0.50, *SUDOKU),
        _part(0.34, *CUBE),
        _part(0.06, *CUBE, depth=1),
        _part(0.10, *GAME_2048),
    ),
    measured=(_example(*SUDOKU), _example(*CUBE), _example(*GAME_2048)),
    random_share=0.2,
    passes=(30720,),
    rows_per_update=16,
    split_lines=True,
    prompt_tokens=True,
    half_precision=True,
)

CUBES = Recipe(
    name="tiny-cube",
    title="Starboard tiny cube",
    imitated="single turns of Rubik's cube, each of another cube one to seven turns from solved",
    mix=(
        MixComponent(share=1.0, config={**_example(*FIVE_TURNS), "kind": "engine.models.tiny.fresh_cubes:FreshCubes"}),
    ),
    measured=(_example(*FIVE_TURNS),),
    random_share=0.2,
    passes=(8192,),
    window=LastTurns(turns=1),
    rows_per_update=8,
    phrases=(*CORNER_LINES, *TURN_WORDS),
    prompt_tokens=True,
    split_lines=True,
    half_precision=True,
)

ROOMS = Recipe(
    name="tiny-rooms",
    title="Starboard tiny rooms",
    imitated="Spatial: where one object is from another",
    mix=(
        MixComponent(share=1.0, config={**_example(*PERSPECTIVE), "kind": "engine.models.tiny.seen_rooms:SeenRooms"}),
    ),
    measured=(_example(*PERSPECTIVE),),
    random_share=0.3,
    passes=(16384,),
    rows_per_update=16,
    layers=3,
    phrases=ROOM_PHRASES,
    split_lines=True,
    prompt_tokens=True,
    half_precision=True,
)

RECIPES = {recipe.name: recipe for recipe in (TINY, SOKOBAN, BANDIT, ARITHMETIC, BOARDS, CUBES, ROOMS)}
