"""The registry of environments: kind to class.

A kind is one of ours, the name of an entry point `starboard.environments` of an installed package, or a dotted path
`package.module:Class` of a class that can be imported.
"""

from __future__ import annotations

from functools import lru_cache
from importlib import import_module
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Any

from engine.errors import ConfigError

if TYPE_CHECKING:
    from engine.config import EnvironmentConfig
    from engine.environments.base import Environment

ENTRY_POINTS = "starboard.environments"
ENVIRONMENTS: dict[str, str] = {
    "alfworld": "engine.environments.alfworld:Alfworld",
    "bandit": "engine.environments.bandit:Bandit",
    "countdown": "engine.environments.countdown:Countdown",
    "deepcoder": "engine.environments.deepcoder:DeepCoder",
    "frozen_lake": "engine.environments.frozen_lake:FrozenLake",
    "game_2048": "engine.environments.game_2048:Game2048",
    "gymnasium": "engine.environments.gymnasium_adapter.environment:GymnasiumEnvironment",
    "http": "engine.environments.remote.http_environment:HttpEnvironment",
    "lean": "engine.environments.lean:Lean",
    "metamathqa": "engine.environments.metamathqa:MetaMathQA",
    "openenv": "engine.environments.remote.openenv:OpenEnv",
    "reasoning_gym": "engine.environments.suites.reasoning_gym:ReasoningGym",
    "rubiks_cube": "engine.environments.rubiks_cube:RubiksCube",
    "search": "engine.environments.search.environment:Search",
    "sokoban": "engine.environments.sokoban:Sokoban",
    "spatial": "engine.environments.spatial:Spatial",
    "static": "engine.environments.static:Static",
    "sudoku": "engine.environments.sudoku.environment:Sudoku",
    "textarena": "engine.environments.suites.textarena:TextArena",
    "textworld": "engine.environments.textworld.environment:TextWorld",
    "verifiers": "engine.environments.suites.verifiers:Verifiers",
    "webshop": "engine.environments.webshop.environment:WebShop",
}


@lru_cache(maxsize=1)
def installed_kinds() -> dict[str, str]:
    """Kinds of installed packages, by their entry points; one with the name of ours is left out."""
    return {found.name: found.value for found in entry_points(group=ENTRY_POINTS) if found.name not in ENVIRONMENTS}


def environment_kinds() -> dict[str, str]:
    """All kinds with a name, ours first."""
    return {**ENVIRONMENTS, **installed_kinds()}


def environment_class(kind: str) -> type[Environment]:
    """The class of `kind`; `ConfigError` if there is none, or if it cannot be imported."""
    from engine.environments.base import Environment

    found = _load(kind, _path_of(kind))
    if not (isinstance(found, type) and issubclass(found, Environment)):
        raise ConfigError(
            f"{kind!r} is {found!r}, not an environment.",
            remedy="Name a subclass of engine.environments.base.Environment.",
        )
    return found


def make_environment(kind: str, **config: Any) -> Environment:
    """An environment of `kind`; `config` is validated by the kind's own pydantic class."""
    cls = environment_class(kind)
    return cls(cls.Config(**config))


def environment_of(config: EnvironmentConfig, **changed: Any) -> Environment:
    """The configured environment within its wrappers; `changed` replaces parameters."""
    from engine.environments.wrappers import wrapped

    return wrapped(make_environment(config.kind, **{**config.parameters, **changed}), config.wrappers)


def _path_of(kind: str) -> str:
    path = environment_kinds().get(kind, kind if ":" in kind else "")
    if not path:
        raise ConfigError(
            f"There is no environment kind {kind!r}.",
            remedy=f"Choose one of: {', '.join(sorted(environment_kinds()))}; or give package.module:Class.",
        )
    return path


def _load(kind: str, path: str) -> Any:
    module_name, _, class_name = path.partition(":")
    try:
        return getattr(import_module(module_name), class_name)
    except Exception as error:  # a module may raise anything when it is imported
        raise ConfigError(
            f"The environment kind {kind!r} cannot be imported from {path}: {type(error).__name__}: {error}",
            remedy="Install its package in this environment, or correct the path.",
        ) from error
