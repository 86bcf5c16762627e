"""Environments of a new installation. Loading them again leaves existing ones unchanged."""

from __future__ import annotations

from typing import Any

from django.db import IntegrityError

from engine.config import EnvironmentConfig
from webapp.environments.models import EnvironmentDefinition
from webapp.environments.services import define

EXAMPLES: dict[str, dict[str, Any]] = {
    "FrozenLake": {"kind": "frozen_lake"},
    "FrozenLake slippery": {"kind": "frozen_lake", "parameters": {"success_rate": 0.8}},
    "FrozenLake coordinates": {"kind": "frozen_lake", "parameters": {"format": "coordinates"}},
    "FrozenLake 6x6": {"kind": "frozen_lake", "parameters": {"size": 6}, "max_turns": 8, "max_actions": 16},
    "Sokoban": {"kind": "sokoban"},
    "Sokoban two boxes": {
        "kind": "sokoban",
        "parameters": {"rows": 7, "columns": 7, "boxes": 2, "depth": 16},
        "max_turns": 10,
        "max_actions": 20,
    },
    "Bandit": {"kind": "bandit"},
    "BanditRev": {"kind": "bandit", "parameters": {"reversed": True}},
}


def load_examples() -> list[EnvironmentDefinition]:
    """Adds the examples whose names are free, and returns those."""
    added = []
    for name, data in EXAMPLES.items():
        if EnvironmentDefinition.objects.filter(name=name).exists():
            continue
        try:
            added.append(define(name=name, config=EnvironmentConfig.model_validate({**data, "tag": name})).definition)
        except IntegrityError:  # another process loads them too
            continue
    return added
