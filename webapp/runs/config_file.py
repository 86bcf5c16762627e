"""A run's configuration as a TOML file, and the command that trains with it."""

from __future__ import annotations

import shlex
from typing import Any

import tomli_w

from engine.config import DetectorsConfig, RunConfig


def as_toml(config: RunConfig) -> str:
    """The configuration as TOML, without the alert rules if they are the default ones."""
    data = config.model_dump(mode="json")
    if config.detectors.rules == DetectorsConfig().rules:
        del data["detectors"]["rules"]
    return tomli_w.dumps(_without_none(data))


def shell_command(run_directory: str = "runs/my-run") -> str:
    return f"python -m engine train config.toml --run-dir {shlex.quote(run_directory)}"


def _without_none(data: Any) -> Any:
    if isinstance(data, dict):
        return {key: _without_none(value) for key, value in data.items() if value is not None}
    if isinstance(data, list):
        return [_without_none(value) for value in data]
    return data
