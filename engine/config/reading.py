"""Reads configurations from files and command-line overrides, and checks them."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from engine.config.problems import problems_by_field
from engine.config.run import RunConfig
from engine.errors import ConfigError
from engine.section import TYPE

KIND = "kind"  # of an environment


def read_config(path: Path, overrides: list[str] | None = None) -> RunConfig:
    """A TOML or JSON file, with `section.key=value` overrides, as a checked config; else a `ConfigError`."""
    return build_config(read_data(path, overrides))


def read_data(path: Path, overrides: list[str] | None = None) -> dict[str, Any]:
    """What the file and the overrides say, unchecked; a `ConfigError` if it is not TOML or JSON."""
    import json

    try:
        text = path.read_text()
        data: dict[str, Any] = json.loads(text) if path.suffix == ".json" else tomllib.loads(text)
    except FileNotFoundError:
        raise ConfigError(
            f"There is no file {path}.", remedy="Give a TOML file such as those in engine/configs."
        ) from None
    except (tomllib.TOMLDecodeError, json.JSONDecodeError) as error:
        raise ConfigError(f"{path} is not valid: {error}.", remedy="Correct it at the line and column given.") from None
    for override in overrides or []:
        apply_override(data, override)
    return data


def build_config(data: dict[str, Any]) -> RunConfig:
    """`data` as a checked config; a `ConfigError` lists every problem as `field: reason`."""
    try:
        return RunConfig.model_validate(data)
    except ValidationError as error:
        problems = "\n".join(
            f"  {field or 'config'}: {reason}" for field, reason in problems_by_field(error, RunConfig)
        )
        raise ConfigError(f"The configuration cannot be used:\n{problems}", remedy="Correct these fields.") from None


def apply_override(data: dict[str, Any], override: str) -> None:
    """Sets `section.key=value` in `data`; the value is TOML, or a plain string when it is not."""
    key, separator, raw = override.partition("=")
    if not separator:
        raise ConfigError(f"--set {override!r} has no '='.", remedy="Write --set section.key=value.")
    try:
        value: Any = tomllib.loads(f"v = {raw}")["v"]
    except tomllib.TOMLDecodeError:
        value = raw
    set_field(data, key, value)


def set_field(data: dict[str, Any], key: str, value: Any) -> None:
    """Sets a field by its dotted name, such as `environments.0.max_turns`; sections and a first environment that `data`
    lacks are added. `ConfigError` if there is no such position.

    Another `type` of a section that has variants replaces that section: its fields are those of the former variant. So
    does another `kind` of an environment, whose instruction, budgets and parameters were those of the former kind.
    """
    target: Any = data
    *parents, last = key.split(".")
    try:
        for parent in parents:
            if isinstance(target, list):
                target = target[int(parent)]
            else:
                target = target.setdefault(parent, [{}] if parent == "environments" else {})
        names_variant = last == TYPE or (last == KIND and parents[:1] == ["environments"])
        if names_variant and isinstance(target, dict) and target.get(last, value) != value:
            target.clear()
        target[int(last) if isinstance(target, list) else last] = value
    except (AttributeError, IndexError, TypeError, ValueError):
        raise ConfigError(
            f"There is no field {key!r}.",
            remedy="Write the names of its sections and the field, joined by dots, as in optimizer.learning_rate.",
        ) from None
