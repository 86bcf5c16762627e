"""What is measured: pairs of a player of ours and one of another library that does the same work, or nearly.

A side is the name of a class in `players` and its arguments.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from benchmarks.environments import players

MOST_STEPS = 50
ELSEWHERE = {"deepcoder"}  # a step is a program in processes of its own, whose time is not the environment's
Side = Callable[[], Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """`theirs_here` says that their side runs under our interpreter, as gymnasium does; `more` is what only our side
    does, or theirs."""

    name: str
    library: str
    ours: Side
    theirs: Side
    theirs_here: bool = False
    more: str = ""


def ours(kind: str, **parameters: Any) -> Side:
    return lambda: players.Ours(kind, parameters)


def gymnasium(env_id: str, *, text: bool = False, **more: Any) -> Side:
    return lambda: players.Gymnasium(env_id, text=text, **more)


def arena(env_id: str, action: Callable[..., str]) -> Side:
    return lambda: players.TextArena(f"{env_id}-raw", action)


DIRECTIONS = players.bracketed("up", "down", "left", "right")
CAPITALS = players.bracketed("Up", "Down", "Left", "Right")
COLOURS = players.bracketed("red", "blue", "green", "yellow", "purple")

STEPS: tuple[Pair, ...] = (
    Pair(
        name="FrozenLake 4x4, as text",
        library="gymnasium",
        ours=ours("frozen_lake"),
        theirs=gymnasium("FrozenLake-v1", text=True, new_map=0.8),
        theirs_here=True,
    ),
    Pair(
        name="FrozenLake 4x4, their state as a number",
        library="gymnasium",
        ours=ours("frozen_lake"),
        theirs=gymnasium("FrozenLake-v1", new_map=0.8),
        theirs_here=True,
        more="ours writes the text",
    ),
    Pair(
        name="FrozenLake 4x4",
        library="TextArena",
        ours=ours("frozen_lake"),
        theirs=arena("FrozenLake-v0-random", DIRECTIONS),
    ),
    Pair(
        name="Sokoban 7x7, two boxes",
        library="gym-sokoban",
        ours=ours("sokoban", rows=7, columns=7, boxes=2, depth=16),
        theirs=lambda: players.GymSokoban(7, 2),
        more="ours knows a shortest solution",
    ),
    Pair(
        name="Sokoban 6x6, three boxes",
        library="TextArena",
        ours=ours("sokoban", boxes=3),
        theirs=arena("Sokoban-v0", DIRECTIONS),
        more="ours knows a shortest solution",
    ),
    Pair(
        name="2048",
        library="TextArena",
        ours=ours("game_2048"),
        theirs=arena("2048-v0", CAPITALS),
    ),
    Pair(
        name="Sudoku 9x9, 41 empty cells",
        library="TextArena",
        ours=ours("sudoku", size=9, empty_cells=41),
        theirs=arena("Sudoku-v0-medium", players.placement),
    ),
    Pair(
        name="Countdown",
        library="TextArena",
        ours=ours("countdown"),
        theirs=arena("Countdown-v0", players.combination),
        more="ours parses a whole expression, and has a new solvable problem for each seed; theirs is always the same",
    ),
    Pair(
        name="Bandit",
        library="TextArena",
        ours=ours("bandit"),
        theirs=arena("Bandit-v0", COLOURS),
        more="ours is a new problem after each step",
    ),
    Pair(
        name="Rubik's cube 2x2",
        library="magiccube",
        ours=ours("rubiks_cube", depth=11, max_steps=MOST_STEPS),
        theirs=players.MagicCube,
        more="ours knows the distance from solved",
    ),
    *(
        Pair(
            name=f"{name} through the adapter, as text",
            library="gymnasium",
            ours=ours("gymnasium", env_id=env_id),
            theirs=gymnasium(env_id, text=True),
            theirs_here=True,
        )
        for name, env_id in (("Taxi", "Taxi-v4"), ("CliffWalking", "CliffWalking-v1"))
    ),
    *(
        Pair(
            name=f"{name} through the adapter, their state as numbers",
            library="gymnasium",
            ours=ours("gymnasium", env_id=env_id),
            theirs=gymnasium(env_id),
            theirs_here=True,
            more="ours is theirs and the text",
        )
        for name, env_id in (("Taxi", "Taxi-v4"), ("Blackjack", "Blackjack-v1"), ("CartPole", "CartPole-v1"))
    ),
)

PROBLEMS: tuple[Pair, ...] = (
    *(
        Pair(
            name=f"Lake {size}x{size}",
            library="gymnasium",
            ours=partial(players.OurProblems, "lake", size, 0.8),
            theirs=partial(players.GymnasiumLakes, size, 0.8),
            theirs_here=True,
        )
        for size in (4, 8)
    ),
    *(
        Pair(
            name=f"Sokoban {size}x{size}, boxes: {boxes}",
            library="gym-sokoban",
            ours=partial(players.OurProblems, "sokoban", size, size, boxes, depth),
            theirs=partial(players.GymSokobanRooms, size, boxes),
            more="ours has a shortest solution",
        )
        for size, boxes, depth in ((6, 1, 10), (7, 2, 16), (10, 3, 30))
    ),
    Pair(
        name="Sokoban 6x6, boxes: 3",
        library="TextArena",
        ours=lambda: players.OurProblems("sokoban", 6, 6, 3, 10),
        theirs=lambda: players.TextArenaProblems("Sokoban-v0-raw"),
        more="ours has a shortest solution",
    ),
    Pair(
        name="Sudoku 9x9, 41 empty cells, one solution",
        library="TextArena",
        ours=lambda: players.OurProblems("sudoku", 9, 41),
        theirs=lambda: players.TextArenaProblems("Sudoku-v0-medium-raw"),
    ),
)


def our_examples() -> dict[str, Side]:
    """The default example of each kind that plays without a server or data of others."""
    from engine.environments.registry import environment_class, environment_kinds

    found: dict[str, Side] = {}
    for kind in environment_kinds():
        cls = environment_class(kind)
        example = next((one for one in cls.examples.values() if not one.get("parameters")), None)
        if example is not None and not cls.needs and kind not in ELSEWHERE:
            found[kind] = ours(kind)
    return found
