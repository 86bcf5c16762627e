"""Environments of a new installation. Loading them again leaves existing ones unchanged."""

from __future__ import annotations

import logging
from typing import Any

from django.db import IntegrityError

from engine.config import EnvironmentConfig
from engine.environments import environment_class, environment_kinds
from engine.errors import ConfigError
from webapp.environments.models import EnvironmentDefinition
from webapp.environments.services import define_unmeasured

log = logging.getLogger(__name__)


def examples() -> dict[str, dict[str, Any]]:
    """Fields of `EnvironmentConfig` by name, of every kind of the registry; none of a package that cannot be imported.

    Ours come first, so an installed package takes no name from them.
    """
    found: dict[str, dict[str, Any]] = {}
    for kind in environment_kinds():
        try:
            kinds_own = environment_class(kind).examples
        except ConfigError:
            log.exception("the examples of %s are not loaded", kind)
            continue
        for name, fields in kinds_own.items():
            found.setdefault(name, {"kind": kind, **fields})
    return found


def load_examples() -> list[EnvironmentDefinition]:
    """Adds the examples whose names are free, and returns those."""
    added = []
    for name, data in examples().items():
        if EnvironmentDefinition.objects.filter(name=name).exists():
            continue
        try:
            config = EnvironmentConfig.model_validate({**data, "tag": name})
            added.append(define_unmeasured(name=name, config=config).definition)
        except IntegrityError:  # another process loads them too
            continue
    return added
