"""Packages that are installed only where somebody wants them."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from engine.environments.loading import loaded_once
from engine.errors import ConfigError


@loaded_once(16)  # importing one of them takes seconds
def imported(module: str, *, extra: str) -> Any:
    """The module; `ConfigError` with the remedy if it cannot be imported."""
    try:
        return import_module(module)
    except ImportError as error:
        raise ConfigError(
            f"The package {module.partition('.')[0]} cannot be imported: {error}.",
            remedy=f"Install the extra: pip install 'starboard[{extra}]'. If it conflicts with installed packages, "
            "install it in a separate environment, and run `python -m engine serve-environment` there.",
        ) from error
