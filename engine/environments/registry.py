"""The registry of environments: kind to class."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from engine.errors import ConfigError

if TYPE_CHECKING:
    from engine.environments.base import Environment

ENVIRONMENTS: dict[str, str] = {
    "alfworld": "engine.environments.alfworld:Alfworld",
    "bandit": "engine.environments.bandit:Bandit",
    "frozen_lake": "engine.environments.frozen_lake:FrozenLake",
    "sokoban": "engine.environments.sokoban:Sokoban",
    "spatial": "engine.environments.spatial:Spatial",
}


def environment_class(kind: str) -> type[Environment]:
    """The class registered for `kind`; `ConfigError` with the available kinds if there is none."""
    try:
        module_name, class_name = ENVIRONMENTS[kind].split(":")
    except KeyError:
        raise ConfigError(
            f"There is no environment kind {kind!r}.", remedy=f"Choose one of: {', '.join(sorted(ENVIRONMENTS))}."
        ) from None
    found: type[Environment] = getattr(import_module(module_name), class_name)
    return found


def make_environment(kind: str, **config: Any) -> Environment:
    """An environment of `kind`; `config` is validated by the kind's own pydantic class."""
    cls = environment_class(kind)
    return cls(cls.Config(**config))
