"""A suite as the TOML that defines it, to be read and to start another one from."""

from __future__ import annotations

import re
from typing import Any

import tomli_w

from engine.config import EnvironmentConfig
from engine.environments import environment_class
from engine.suites.resolve import ItemDraft, SuiteDraft
from engine.suites.suite import Suite
from webapp.suites.models import SuiteVersion

NAME = re.compile(r"name\s*=")
BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")

STARTER = """name = "my-suite"
title = "My suite"
description = ""

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
    return version.definition or written(_draft_of(version.parsed()))


def renamed(definition: str, name: str) -> str:
    """The definition with another name, which those of suites that ship leave to their files."""
    head, table, rest = definition.partition("[[items]]")
    kept = "".join(line for line in head.splitlines(keepends=True) if not NAME.match(line))
    return f'name = "{name}"\n{kept}{table}{rest}'


def written(draft: SuiteDraft) -> str:
    """A draft as TOML, without what is as usual."""
    plain = plain_of(draft)
    items = plain.pop("items")
    return "\n".join([_lines(plain), *(f"[[items]]\n{_lines(item)}" for item in items)])


def plain_of(draft: SuiteDraft) -> dict[str, Any]:
    """What a draft has that is not as usual: equal for two drafts of the same suite."""
    head = draft.model_dump(mode="json", exclude={"items", "version"}, exclude_defaults=True)
    return {**head, "items": [_item(item) for item in draft.items]}


def _item(item: ItemDraft) -> dict[str, Any]:
    drawn = {"first_seed", "count"} if item.seeds else set()
    plain = item.model_dump(mode="json", exclude={"environment", *drawn}, exclude_defaults=True)
    if "context" in plain:  # its type may be the default of its own class
        plain["context"] = {"type": item.context.type, **plain["context"]}
    return {**plain, "environment": _environment(item.environment)}


def _environment(config: EnvironmentConfig) -> dict[str, Any]:
    """What differs from the kind's defaults."""
    usual = EnvironmentConfig.model_validate({"kind": config.kind, "tag": config.tag}).model_dump(mode="json")
    plain = config.model_dump(mode="json")
    kind = environment_class(config.kind)
    defaults = kind.Config().model_dump(mode="json")
    given = kind.Config(**config.parameters).model_dump(mode="json")
    plain["parameters"] = {name: value for name, value in given.items() if value != defaults[name]}
    plain["limits"] = {name: value for name, value in plain["limits"].items() if value != usual["limits"][name]}
    differ = {name: value for name, value in plain.items() if value != usual[name] and value not in ({}, [])}
    return {"kind": config.kind, **differ}


def _lines(table: dict[str, Any]) -> str:
    """A line for each value: `environment = { kind = "sokoban", parameters = { rows = 8 } }`."""
    return "".join(f"{name} = {inline(value)}\n" for name, value in table.items())


def inline(value: Any) -> str:
    """A value of JSON as TOML in one line."""
    if isinstance(value, dict):
        inside = ", ".join(f"{_key(name)} = {inline(part)}" for name, part in value.items() if part is not None)
        return f"{{ {inside} }}" if inside else "{}"
    if isinstance(value, list):
        return "[" + ", ".join(inline(part) for part in value) + "]"
    return tomli_w.dumps({"v": value}).removeprefix("v = ").strip()


def _key(name: str) -> str:
    return name if BARE_KEY.fullmatch(name) else inline(name)


def _draft_of(suite: Suite) -> SuiteDraft:
    items = [item.model_dump(mode="json", exclude={"problems"}) for item in suite.items]
    return SuiteDraft.model_validate({**suite.model_dump(mode="json", exclude={"items"}), "items": items})
