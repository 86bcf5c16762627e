"""A suite as the TOML that defines it, to be read and to start another one from."""

from __future__ import annotations

import re
from typing import Any

import tomli_w

from engine.config import EnvironmentConfig
from engine.suites.suite import Suite
from webapp.suites.models import SuiteVersion

NAME = re.compile(r"name\s*=")

STARTER = """name = "my-suite"
title = "My suite"
description = "What it measures."

[[items]]
name = "FrozenLake 6x6"
environment = { kind = "frozen_lake", parameters = { size = 6 }, max_turns = 8, max_actions = 16 }
count = 128           # held-out problems, all different
samples = 1           # episodes per problem; several give pass@k
temperature = 0.5
max_context_tokens = 2048
"""


def definition_of(version: SuiteVersion) -> str:
    """As it was written. Of an imported suite one that names its seeds, so that the problems stay the same."""
    return version.definition or _written(version.parsed())


def renamed(definition: str, name: str) -> str:
    """The definition with another name, which those of suites that ship leave to their files."""
    head, table, rest = definition.partition("[[items]]")
    kept = "".join(line for line in head.splitlines(keepends=True) if not NAME.match(line))
    return f'name = "{name}"\n{kept}{table}{rest}'


def _written(suite: Suite) -> str:
    head = {"name": suite.name, "title": suite.title, "description": suite.description}
    parts = [tomli_w.dumps({name: value for name, value in head.items() if value})]
    for item in suite.items:
        plain = item.model_dump(mode="json", exclude={"environment", "context", "problems"})
        parts.append("[[items]]\n" + tomli_w.dumps(plain))
        tables = {"context": item.context.model_dump(mode="json"), "environment": _environment(item.environment)}
        parts.append(tomli_w.dumps({"items": tables}))
    return "\n".join(parts)


def _environment(config: EnvironmentConfig) -> dict[str, Any]:
    """What differs from the kind's defaults."""
    usual = EnvironmentConfig.model_validate({"kind": config.kind, "tag": config.tag}).model_dump(mode="json")
    plain = config.model_dump(mode="json")
    return {"kind": config.kind, **{name: value for name, value in plain.items() if value != usual[name]}}
