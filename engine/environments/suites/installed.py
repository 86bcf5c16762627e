"""Packages that are installed only where somebody wants them."""

from __future__ import annotations

import threading
from importlib import import_module
from typing import Any

from engine.errors import ConfigError

_IMPORTING = threading.Lock()  # a package that two threads import at a time may be seen half done


def imported(module: str, *, requirement: str) -> Any:
    """The module; `ConfigError` with the remedy if it cannot be imported."""
    try:
        with _IMPORTING:
            return import_module(module)
    except ImportError as error:
        raise ConfigError(
            f"The package {requirement} cannot be imported: {error}",
            remedy=f"Install it in the environment of the workers: uv pip install '{requirement}'. Where its "
            "requirements conflict with ours, install it in another one and run `python -m engine serve-environment` "
            "there.",
        ) from error
