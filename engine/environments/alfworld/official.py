"""ALFWorld's own games: finding the files of a split, and playing one in TextWorld's engine.

Files are opened one by one in an order of our own, since ALFWorld's batch environment shuffles them with a fixed seed.
A file's grammar has Python expressions, which TextWorld evaluates: use files of a source that you trust.
"""

from __future__ import annotations

import json
from collections import Counter, deque
from collections.abc import Iterable
from contextlib import suppress
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from typing import Any

from engine.environments.alfworld.catalogue import TaskType
from engine.environments.alfworld.generation import Evaluation
from engine.environments.base import UNKNOWN, Drawing, Solution, Split
from engine.environments.command_game import admissible
from engine.environments.textworld.making import EXTRA, alone
from engine.errors import ConfigError

# Engines to use again. Each has a copy of the planner's library, which must stay loaded: it is called when the process
# exits.
_IDLE: deque[Any] = deque()


def find_games(data: str, split: Split, evaluation: Evaluation, tasks: tuple[TaskType, ...]) -> tuple[Path, ...]:
    """The game files of a split below `data`, sorted; `ConfigError` if there are none."""
    folder = "train" if split == "train" else f"valid_{evaluation}"
    root = Path(data).expanduser()
    found = next((one for one in (root / folder, root / "json_2.1.1" / folder) if one.is_dir()), None)
    files = _game_files(found, tasks) if found else ()
    if not files:
        raise ConfigError(
            f"There is no game.tw-pddl of these tasks in {root / folder}.",
            remedy="Set data to the directory that contains train, valid_seen and valid_unseen; alfworld-download "
            "makes it.",
        )
    return files


@lru_cache(maxsize=16)
def _game_files(folder: Path, tasks: tuple[TaskType, ...]) -> tuple[Path, ...]:
    """Those that ALFWorld loads: without movable receptacles and without sliced objects."""
    return tuple(
        path
        for path in sorted(folder.glob("*/*/game.tw-pddl"))
        if path.parts[-3].split("-")[0] in tasks and "movable" not in path.parts[-3] and "Sliced" not in path.parts[-3]
    )


def open_game(files: tuple[Path, ...], seed: int) -> OfficialGame:
    """The game of a seed: file `seed` modulo their number, or the next one that is known to be solvable."""
    for offset in range(len(files)):
        path = files[(seed + offset) % len(files)]
        data = _read(path)
        if data.get("solvable"):
            return OfficialGame(path, data)
    raise ConfigError(
        f"None of the {len(files)} games from {files[0]} on is known to be solvable.",
        remedy="Run alfworld-generate, which checks them.",
    )


@lru_cache(maxsize=32)  # the members of a group play the same game
def _read(path: Path) -> dict[str, Any]:
    try:
        data: dict[str, Any] = json.loads(path.read_text())
        missing = {"pddl_domain", "grammar", "pddl_problem"} - set(data)
    except (OSError, ValueError, TypeError) as error:
        raise ConfigError(f"{path} is not a game of ALFWorld: {error}.", remedy="Download the games again.") from error
    if missing:
        raise ConfigError(f"{path} has no {', '.join(sorted(missing))}.", remedy="Download the games again.")
    return data


class OfficialGame:
    def __init__(self, path: Path, data: dict[str, Any]) -> None:
        self._data = data
        self._engine = _engine()
        with alone():
            if getattr(self._engine, "_game_data", None) is not data:
                self._engine.load(data)
            for entity, name in display_names(self._engine._entity_infos).items():
                self._engine._entity_infos[entity].name = name
            self._state = self._engine.reset()
        self.name = "/".join(path.parts[-3:-1])
        self.goal = str(self._state.feedback).rpartition("Your task is to:")[2].strip(" .\n")
        self._walkthrough: list[str] | None = list(data.get("walkthrough") or []) or None

    @property
    def feedback(self) -> str:
        return str(self._state.feedback)

    def commands(self) -> list[str]:
        return list(self._state.admissible_commands)

    def play(self, command: str) -> float:
        expected = admissible(self._walkthrough[0], [command]) if self._walkthrough else None
        self._walkthrough = self._walkthrough[1:] if self._walkthrough and expected else None
        with alone():
            self._state, _, _ = self._engine.step(command)
        return float(self.won())

    def won(self) -> bool:
        return bool(self._state.won)

    def lost(self) -> bool:
        return False

    def plan(self) -> Solution:
        """The rest of the file's walkthrough while that is followed; then a plan from the current state."""
        if self.won():
            return []
        if self._walkthrough:
            return list(self._walkthrough)
        with alone():
            return list(self._engine._pddl_state.replan(self._engine._entity_infos)) or UNKNOWN

    def problem(self) -> str:
        return str(self._data["pddl_problem"])

    def drawing(self) -> Drawing:
        return {"type": "text", "text": f"{self.name}\n{self.feedback.strip()}"}

    def close(self) -> None:
        """Returns the engine for the next game."""
        if self._engine is not None:
            _IDLE.append(self._engine)
            self._engine = None


def _engine() -> Any:
    """One that no other game uses."""
    with suppress(IndexError):
        return _IDLE.pop()
    try:
        infos = import_module("textworld.core").EnvInfos(won=True, feedback=True, admissible_commands=True)
        return import_module("textworld.envs.pddl").PddlEnv(infos)
    except ImportError as error:
        raise ConfigError(f"ALFWorld's games need textworld and its planner: {error}.", remedy=EXTRA) from error


def display_names(entities: Iterable[str]) -> dict[str, str]:
    """What objects and receptacles are called: their type and a number, as ALFWorld counts them.

    An id is `mug_bar_…`; of `sink_bar_…_bar_sinkbasin` the type is `sinkbasin`. Ids of a type in alphabetical order
    have falling numbers.
    """
    types = {entity: _type(entity) for entity in sorted(entities)}
    left = Counter(kind for kind in types.values() if kind is not None)
    names = {}
    for entity, kind in types.items():
        if kind is None:
            names[entity] = entity
            continue
        names[entity] = f"{kind} {left[kind]}"
        left[kind] -= 1
    return names


def _type(entity: str) -> str | None:
    kind, bar, _ = entity.partition("_bar_")
    if not bar:
        return None
    return f"{kind}basin" if "basin" in entity else kind
