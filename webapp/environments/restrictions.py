"""What only an administrator may configure: kinds and parameters that reach servers, files or code of this machine."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.contrib.auth.models import AnonymousUser, User
from django.http import HttpRequest

from engine.config import EnvironmentConfig
from engine.environments import environment_class, environment_kinds
from engine.environments.base import Environment
from engine.errors import ConfigError
from webapp.environments.models import EnvironmentVersion

OWN_CLASS = "Naming a class runs its code on the workers and in the site, with the rights of both."
ADMINISTRATORS = "Only an administrator may configure this."


def is_administrator(user: User | AnonymousUser | None) -> bool:
    return bool(user and user.is_staff)


def administers(request: HttpRequest) -> bool:
    return is_administrator(request.user)


def why_restricted(kind: type[Environment], name: str) -> str:
    """Why the whole kind, called `name`, is for administrators; empty if it is for everyone."""
    return OWN_CLASS if ":" in name else kind.restricted


def restricted_parameters(kind: type[Environment]) -> dict[str, str]:
    """The reason by parameter."""
    found: dict[str, str] = {}
    for name, info in kind.Config.model_fields.items():
        extra = info.json_schema_extra
        if isinstance(extra, Mapping) and extra.get("restricted"):
            found[name] = str(extra["restricted"])
    return found


def changed_restricted(kind: type[Environment], before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, str]:
    """The restricted parameters whose values differ, with the reason."""
    reasons = restricted_parameters(kind)
    return {name: reason for name, reason in reasons.items() if before.get(name) != after.get(name)}


def refused_class(name: object, user: User | AnonymousUser | None) -> str:
    """Why the kind `name` may not even be looked up, which would import it; empty if it may."""
    return f"{ADMINISTRATORS} {OWN_CLASS}" if ":" in str(name) and not is_administrator(user) else ""


def refused_fields(environment: EnvironmentConfig, user: User | AnonymousUser | None) -> dict[str, str]:
    """By dotted field, what differs from the kind's defaults and only an administrator may configure."""
    if is_administrator(user):
        return {}
    kind = environment_class(environment.kind)
    if reason := why_restricted(kind, environment.kind):
        return {"kind": f"{ADMINISTRATORS} {reason}"}
    given = kind.Config(**environment.parameters).model_dump(mode="json")
    changed = changed_restricted(kind, kind.Config().model_dump(mode="json"), given)
    return {f"parameters.{name}": f"{ADMINISTRATORS} {reason}" for name, reason in changed.items()}


def is_as_saved(environment: EnvironmentConfig, version: EnvironmentVersion) -> bool:
    """Whether it is what was set up under its name, perhaps by an administrator, so that anybody may use it."""
    saved = version.parsed()
    return (environment.kind, environment.parameters) == (saved.kind, saved.parameters)


def is_allowed(kind: str, request: HttpRequest) -> bool:
    """Whether the form may be shown for `kind`: one with a name, or for an administrator any class that exists."""
    if kind in environment_kinds():
        return True
    if ":" not in kind or not administers(request):
        return False
    try:
        environment_class(kind)
    except ConfigError:
        return False
    return True
