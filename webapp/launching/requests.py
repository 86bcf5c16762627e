"""A run that a program requests: a preset or a configuration with changes, checked as the form's are."""

from __future__ import annotations

import copy
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from django.contrib.auth.models import User

from engine.config import set_field
from engine.errors import ConfigError
from webapp.environments.models import EnvironmentVersion
from webapp.environments.restrictions import is_as_saved, refused_class, refused_fields
from webapp.launching import drafts
from webapp.launching.presets import run_presets, saved_presets
from webapp.projects.access import readable


class Refused(Exception):
    """`errors` by field of the request; those of the configuration begin with their section."""

    def __init__(self, errors: dict[str, str]) -> None:
        super().__init__(" ".join(errors.values()))
        self.errors = errors


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """One of `preset`, `config` and `toml`. `environment` is the name of one of the site, and replaces the first of the
    configuration."""

    preset: str = ""
    config: Mapping[str, Any] | None = None
    toml: str | None = None
    overrides: Mapping[str, Any] = field(default_factory=dict)
    environment: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    draft: drafts.Draft
    title: str  # of the preset; empty for a configuration
    version: EnvironmentVersion | None


def prepare(wanted: Wanted, user: User, *, of: EnvironmentVersion | None = None) -> Prepared:
    """Raises `Refused` unless it could be launched now. `of` is the environment that a configuration of an
    earlier run is of."""
    data, title, version = _start(wanted, user)
    version = version or of
    if wanted.environment:
        version = _version(wanted.environment)
        data["environments"] = [dict(version.config), *data.get("environments", [])[1:]]
    try:
        for name, value in wanted.overrides.items():
            set_field(data, name, value)
    except ConfigError as error:
        raise Refused({"overrides": f"{error} {error.remedy}"}) from None
    _refuse_classes(data, user)
    draft = drafts.check(data)
    if draft.config is None or draft.errors:
        raise Refused(draft.errors)
    _refuse_restricted(draft, version, user)
    return Prepared(draft=draft, title=title, version=version)


def _start(wanted: Wanted, user: User) -> tuple[dict[str, Any], str, EnvironmentVersion | None]:
    given = [name for name in ("preset", "config", "toml") if getattr(wanted, name) not in ("", None)]
    if len(given) != 1:
        sent = " and ".join(given) or "none of them"
        raise Refused({"": f"Send one of preset, config and toml; {sent} was sent."})
    if wanted.toml is not None:
        return _read(wanted.toml), "", None
    if wanted.config is not None:
        return copy.deepcopy(dict(wanted.config)), "", None
    presets = run_presets() | saved_presets(user)
    if wanted.preset not in presets:
        raise Refused({"preset": f"There is no preset {wanted.preset[:60]!r}. Send one of {', '.join(presets)}."})
    found = presets[wanted.preset]
    return copy.deepcopy(found.data), found.title, found.saved.environment_version if found.saved else None


def _read(text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise Refused({"toml": f"This is not TOML: {error}."}) from None


def _version(name: str) -> EnvironmentVersion:
    """The newest of the environment with this name."""
    current = readable(EnvironmentVersion.objects.filter(definition__archived_at=None))
    found = current.filter(definition__name=name).order_by("-number").first() if "\0" not in name else None
    if found is None:
        known = current.order_by("definition__name").values_list("definition__name", flat=True).distinct()[:20]
        raise Refused(
            {"environment": f"There is no environment {name[:60]!r}. Some are: {', '.join(known) or 'none'}."}
        )
    return found


def _refuse_classes(data: Mapping[str, Any], user: User) -> None:
    """Before the configuration is read, which imports a class that it names."""
    environments = data.get("environments")
    for index, one in enumerate(environments if isinstance(environments, list) else []):
        if isinstance(one, Mapping) and (reason := refused_class(one.get("kind"), user)):
            raise Refused({f"environments.{index}.kind": reason})


def _refuse_restricted(draft: drafts.Draft, version: EnvironmentVersion | None, user: User) -> None:
    """An environment of the site may have been set up by an administrator; it is allowed as it is."""
    for index, one in enumerate(draft.config.environments if draft.config else []):
        if index == 0 and version is not None and is_as_saved(one, version):
            continue
        if errors := refused_fields(one, user):
            raise Refused({f"environments.{index}.{name}": reason for name, reason in errors.items()})
