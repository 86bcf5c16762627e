"""A run that a program requests: a preset or a configuration with changes, checked as the form's are."""

from __future__ import annotations

import copy
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.contrib.auth.models import User

from engine.config import RunConfig, set_field
from engine.errors import ConfigError
from engine.sized_defaults import Change, names_in, same_size, with_sized_defaults
from webapp.environments.model_access import may_be_named
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
    sized: bool = False  # fields that are not given have the defaults for the model's size


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    draft: drafts.Draft
    title: str  # of the preset; empty for a configuration
    version: EnvironmentVersion | None
    changes: Sequence[Change] = ()  # to the defaults for the model's size


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
    changes: list[Change] = []
    if wanted.sized:
        data, changes = _sized(wanted, data, draft.config, user)
        draft = drafts.check(data) if changes else draft
        if draft.config is None or draft.errors:
            raise Refused(draft.errors)
    return Prepared(draft=draft, title=title, version=version, changes=changes)


def _sized(wanted: Wanted, data: dict[str, Any], config: RunConfig, user: User) -> tuple[dict[str, Any], list[Change]]:
    """A preset has the defaults for the size of its own model; what it says of a model of another size counts as not
    given, as on the form."""
    if not may_be_named(config.model.path):
        return data, []
    if not wanted.preset:
        return with_sized_defaults(data, config)
    of_preset = (run_presets() | saved_presets(user))[wanted.preset].config()
    if same_size(config.model.versioned_path, of_preset.model.versioned_path):
        return data, []
    of_environment = names_in({"environments": data.get("environments", [])}) if wanted.environment else ()
    return with_sized_defaults(data, config, given={*wanted.overrides, *of_environment})


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
