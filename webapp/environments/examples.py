"""Environments of a new installation. Loading them again leaves existing ones unchanged."""

from __future__ import annotations

from typing import Any

from django.db import IntegrityError

from engine.config import EnvironmentConfig
from engine.environments import ENVIRONMENTS, environment_class
from webapp.environments.models import EnvironmentDefinition
from webapp.environments.services import define_unmeasured


def examples() -> dict[str, dict[str, Any]]:
    """Fields of `EnvironmentConfig` by name, of every kind of the registry."""
    return {
        name: {"kind": kind, **fields}
        for kind in ENVIRONMENTS
        for name, fields in environment_class(kind).examples.items()
    }


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
