"""Players of our environments, of gymnasium's, of TextArena's, of gym-sokoban's and of a cube library.

A library is imported when one of its players is made, so that this module runs under the interpreter of either side.
"""

from __future__ import annotations

import random
import warnings
from collections.abc import Callable
from typing import Any

NEVER = 10**9  # invalid moves that TextArena forgives, which would end its games after two


class Ours:
    """An environment of Starboard: the text of an action in, the text of the state out."""

    def __init__(self, kind: str, parameters: dict[str, Any], wrappers: list[dict[str, Any]] | None = None) -> None:
        import numpy as np

        from engine.config import EnvironmentConfig
        from engine.environments import environment_of

        config = EnvironmentConfig.model_validate({"kind": kind, "parameters": parameters, "wrappers": wrappers or []})
        self.environment = environment_of(config)
        self.rng = np.random.default_rng(1)
        self.text = ""

    def reset(self, seed: int) -> None:
        self.environment.reset(seed=seed)

    def choose(self) -> None:
        self.text = self.environment.random_action(self.rng)

    def step(self) -> bool:
        action = self.environment.resolve(self.text)
        if action is None:
            raise RuntimeError(f"{self.text!r} is no action")
        _, _, terminated, truncated, _ = self.environment.step(action)
        return terminated or truncated


class Gymnasium:
    """A gymnasium environment as it is, or with its state as text where it can write it."""

    def __init__(self, env_id: str, *, text: bool, new_map: float = 0.0, **options: Any) -> None:
        import gymnasium

        shown: dict[str, Any] = {"render_mode": "ansi"} if text else {}

        def make(**more: Any) -> Any:
            return gymnasium.make(env_id, disable_env_checker=True, **shown, **options, **more)

        self.make = make
        self.text = text
        self.new_map = new_map
        self.environment = self.make()
        self.actions = int(self.environment.action_space.n)
        self.random = random.Random(1)
        self.action = 0

    def reset(self, seed: int) -> None:
        if self.new_map:  # a lake of its own for each seed, as ours
            from gymnasium.envs.toy_text.frozen_lake import generate_random_map

            self.environment = self.make(desc=generate_random_map(size=4, p=self.new_map, seed=seed))
        observation, _ = self.environment.reset(seed=seed)
        self.read(observation)

    def choose(self) -> None:
        self.action = self.random.randrange(self.actions)

    def step(self) -> bool:
        observation, _, terminated, truncated, _ = self.environment.step(self.action)
        self.read(observation)
        return bool(terminated or truncated)

    def read(self, observation: Any) -> None:
        if self.text:
            self.environment.render()


class TextArena:
    """A TextArena environment without wrappers, which is the fastest it has: text in, messages out."""

    def __init__(self, env_id: str, action: Callable[[random.Random], str]) -> None:
        import textarena

        self.environment = textarena.make(env_id)
        self.random = random.Random(1)
        self.draw = action
        self.text = ""

    def reset(self, seed: int) -> None:
        self.environment.reset(num_players=1, seed=seed)
        self.environment.state.error_allowance = NEVER
        self.environment.get_observation()

    def choose(self) -> None:
        self.text = self.draw(self.random)

    def step(self) -> bool:
        done, _ = self.environment.step(self.text)
        self.environment.get_observation()
        return bool(done)


class GymSokoban:
    """gym-sokoban with its smallest picture, one pixel a cell."""

    def __init__(self, size: int, boxes: int) -> None:
        warnings.simplefilter("ignore")
        from gym_sokoban.envs.sokoban_env import SokobanEnv

        self.environment = SokobanEnv(dim_room=(size, size), num_boxes=boxes, max_steps=100, reset=False)
        self.random = random.Random(1)
        self.action = 0

    def reset(self, seed: int) -> None:
        seed_globally(seed)
        self.environment.reset(render_mode="tiny_rgb_array")

    def choose(self) -> None:
        self.action = self.random.randrange(1, 5)

    def step(self) -> bool:
        _, _, done, _ = self.environment.step(self.action, observation_mode="tiny_rgb_array")
        return bool(done)


class MagicCube:
    """A 2x2 cube of magiccube, scrambled by eleven turns, with its colours as text after each turn."""

    TURNS = tuple(face + sign for face in "UDLRFB" for sign in ("", "'"))

    def __init__(self) -> None:
        import magiccube

        self.new: Callable[[], Any] = lambda: magiccube.Cube(2)
        self.cube = self.new()
        self.random = random.Random(1)
        self.turn = "U"

    def reset(self, seed: int) -> None:
        self.cube = self.new()
        drawn = random.Random(seed)
        self.cube.rotate(" ".join(drawn.choice(self.TURNS) for _ in range(11)))
        self.cube.get()

    def choose(self) -> None:
        self.turn = self.random.choice(self.TURNS)

    def step(self) -> bool:
        self.cube.rotate(self.turn)
        self.cube.get()
        return bool(self.cube.is_done())


class OurProblems:
    """The generator behind an environment of ours; none of its seeds is in the cache."""

    def __init__(self, what: str, *arguments: Any) -> None:
        from engine.environments.frozen_lake import make_lake
        from engine.environments.sokoban_level import make_level
        from engine.environments.sudoku.generator import make_problem

        found: dict[str, Callable[..., Any]] = {"lake": make_lake, "sokoban": make_level, "sudoku": make_problem}
        self.function = found[what]
        self.arguments = arguments

    def make(self, seed: int) -> None:
        self.function(seed, *self.arguments)


class GymnasiumLakes:
    def __init__(self, size: int, frozen: float) -> None:
        from gymnasium.envs.toy_text.frozen_lake import generate_random_map

        self.function = generate_random_map
        self.size, self.frozen = size, frozen

    def make(self, seed: int) -> None:
        self.function(size=self.size, p=self.frozen, seed=seed)


class GymSokobanRooms:
    """Rooms of gym-sokoban; a failed try, which is an exception there, is part of the room that follows."""

    def __init__(self, size: int, boxes: int) -> None:
        warnings.simplefilter("ignore")
        from gym_sokoban.envs.room_utils import generate_room

        self.function = generate_room
        self.size, self.boxes = size, boxes

    def make(self, seed: int) -> None:
        seed_globally(seed)
        for _ in range(100):
            try:
                self.function(dim=(self.size, self.size), num_steps=int(3.4 * self.size), num_boxes=self.boxes)
            except (RuntimeError, RuntimeWarning):
                continue
            return
        raise RuntimeError("no room in 100 tries")


class TextArenaProblems:
    """The problems of a TextArena environment; its prompt is made with them."""

    def __init__(self, env_id: str) -> None:
        import textarena

        self.environment = textarena.make(env_id)

    def make(self, seed: int) -> None:
        self.environment.reset(num_players=1, seed=seed)


def seed_globally(seed: int) -> None:
    """gym-sokoban draws from the global generators."""
    import numpy as np

    random.seed(seed)
    np.random.seed(seed % 2**32)


def bracketed(*names: str) -> Callable[[random.Random], str]:
    return lambda rng: f"[{rng.choice(names)}]"


def placement(rng: random.Random) -> str:
    return f"[{rng.randint(1, 9)} {rng.randint(1, 9)} {rng.randint(1, 9)}]"


def combination(rng: random.Random) -> str:
    return f"[{rng.randrange(3)} {rng.randrange(3)} {rng.choice('+-*')}]"
