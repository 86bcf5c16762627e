"""An environment that a program defines or edits, checked as the form checks it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.contrib.auth.models import User
from pydantic import ValidationError

from engine.config import EnvironmentConfig, problems_by_field
from engine.environments import environment_class
from engine.errors import ConfigError
from webapp.environments.budgets import why_infeasible
from webapp.environments.forms import tag_for, why_no_name
from webapp.environments.models import EnvironmentDefinition
from webapp.environments.restrictions import (
    ADMINISTRATORS,
    changed_restricted,
    is_administrator,
    refused_class,
    why_restricted,
)


class Refused(Exception):
    """`errors` by field of the request; those of the configuration begin with `config`."""

    def __init__(self, errors: dict[str, str]) -> None:
        super().__init__(" ".join(errors.values()))
        self.errors = errors


def checked(
    name: str, data: Mapping[str, Any], user: User, definition: EnvironmentDefinition | None = None
) -> EnvironmentConfig:
    """The configuration; raises `Refused`. A `definition` that is edited keeps its kind and its tag."""
    current = definition.latest.parsed() if definition else None
    data = {"kind": current.kind, **data} if current else data
    errors = {"name": problem} if (problem := why_no_name(name, definition)) else {}
    if reason := refused_class(data.get("kind"), user):
        raise Refused({"config.kind": reason})
    if current is not None and data.get("kind") != current.kind:
        raise Refused(
            {"config.kind": f"The kind is {current.kind!r} and cannot be changed; define another environment."}
        )
    try:
        config = EnvironmentConfig.model_validate({**data, "tag": current.tag if current else tag_for(name)})
        kind = environment_class(config.kind)
        parameters = kind.Config(**config.parameters).model_dump(mode="json")
        before = kind.Config(**(current.parameters if current else {})).model_dump(mode="json")
    except ValidationError as error:
        found = problems_by_field(error, EnvironmentConfig)
        raise Refused(errors | {f"config.{field}": reason for field, reason in found}) from None
    except ConfigError as error:
        raise Refused(errors | {"config.kind": str(error)}) from None
    if not is_administrator(user):
        whole = "" if current else why_restricted(kind, config.kind)
        errors |= {"config.kind": f"{ADMINISTRATORS} {whole}"} if whole else {}
        changed = changed_restricted(kind, before, parameters)
        errors |= {f"config.parameters.{field}": f"{ADMINISTRATORS} {reason}" for field, reason in changed.items()}
    if not errors and (problem := why_infeasible(config)):
        errors["config.max_actions"] = problem
    if errors:
        raise Refused(errors)
    return config
