"""The built-in environments, by kind. Importing this package loads no environment and no torch."""

from __future__ import annotations

from engine.environments.registry import (
    ENVIRONMENTS,
    environment_class,
    environment_kinds,
    environment_of,
    make_environment,
)

__all__ = ["ENVIRONMENTS", "environment_class", "environment_kinds", "environment_of", "make_environment"]
