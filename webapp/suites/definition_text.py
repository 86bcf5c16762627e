"""A suite as the TOML that defines it, to be read and to start another one from."""

from __future__ import annotations

from typing import Any

import tomli_w

from engine.config import EnvironmentConfig
from engine.suites.suite import ItemSettings, Suite, SuiteItem

STARTER = '''name = "my-suite"
title = "My suite"
description = "What it measures."

[[items]]
name = "FrozenLake 6x6"
environment = { kind = "frozen_lake", parameters = { size = 6 }, max_turns = 8, max_actions = 16 }
count = 128           # held-out problems, all different
samples = 1           # episodes per problem; several give pass@k
temperature = 0.5
max_context_tokens = 2048
'''


def definition_of(suite: Suite) -> str:
    """Without its problems: they are drawn anew, and come out the same while the environment does."""
    head: dict[str, Any] = {"name": suite.name, "title": suite.title, "description": suite.description}
    return tomli_w.dumps({**{name: value for name, value in head.items() if value}, "items": _items(suite)})


def _items(suite: Suite) -> list[dict[str, Any]]:
    return [_item(item) for item in suite.items]


def _item(item: SuiteItem) -> dict[str, Any]:
    """What differs from the defaults."""
    plain = item.model_dump(mode="json", exclude={"environment", "seeds", "problems"})
    defaults = {name: field.default for name, field in ItemSettings.model_fields.items()}
    defaults["context"] = {"type": "full"}
    given = {name: value for name, value in plain.items() if value != defaults.get(name)}
    return {**given, "environment": _environment(item.environment), "count": len(item.problems)}


def _environment(config: EnvironmentConfig) -> dict[str, Any]:
    usual = EnvironmentConfig.model_validate({"kind": config.kind, "tag": config.tag}).model_dump(mode="json")
    plain = config.model_dump(mode="json")
    changed = {name: value for name, value in plain.items() if value != usual[name]}
    return {"kind": config.kind, **changed}
