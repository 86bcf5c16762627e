"""A sweep that a program requests: a definition as `engine/sweeps/presets` has them, or the key of one that ships."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from django.contrib.auth.models import User
from pydantic import ValidationError

from engine.config import RunConfig, problems_by_field
from engine.sweeps.catalogue import SweepPreset, sweep_presets
from engine.sweeps.text import SweepText
from webapp.environments.models import EnvironmentVersion
from webapp.launching import requests
from webapp.launching.requests import Refused
from webapp.sweeps.drafts import SweepDraft, draft


class SweepDefinition(SweepPreset):
    """With a whole configuration of runs in place of `base`, and the name of an environment of the site."""

    config: dict[str, Any] | None = None
    environment: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """One of `preset`, `definition` and `toml`; `seeds` replace those of the plan."""

    preset: str = ""
    definition: Mapping[str, Any] | None = None
    toml: str | None = None
    seeds: list[int] | None = field(default=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """`draft` is checked as the form's is; it may have problems."""

    draft: SweepDraft
    base: RunConfig
    title: str
    text: SweepText
    preset: str
    version: EnvironmentVersion | None


def prepare(wanted: Wanted, user: User) -> Prepared:
    """Raises `Refused` for what is no definition, or whose base could not be launched."""
    definition = _definition(wanted)
    base = _base(definition, user)
    if base.draft.config is None:
        raise AssertionError("what was prepared has a configuration")
    data = definition.plan.model_dump(mode="json")
    if wanted.seeds is not None:
        data["seeds"] = wanted.seeds
    return Prepared(
        draft=draft(base.draft.config, data, user=user, version=base.version),
        base=base.draft.config,
        title=definition.title,
        text=definition,
        preset=base.title,
        version=base.version,
    )


def _base(definition: SweepDefinition, user: User) -> requests.Prepared:
    wanted = requests.Wanted(
        preset="" if definition.config is not None else definition.base,
        config=definition.config,
        overrides=definition.all_changes(),
        environment=definition.environment,
    )
    try:
        return requests.prepare(wanted, user)
    except Refused as refusal:
        names = {"preset": "base", "overrides": "changes"}
        raise Refused({names.get(name, name): why for name, why in refusal.errors.items()}) from None


def _definition(wanted: Wanted) -> SweepDefinition:
    given = [name for name in ("preset", "definition", "toml") if getattr(wanted, name) not in ("", None)]
    if len(given) != 1:
        sent = " and ".join(given) or "none of them"
        raise Refused({"": f"Send one of preset, definition and toml; {sent} was sent."})
    if wanted.preset:
        presets = sweep_presets()
        if wanted.preset not in presets:
            raise Refused({"preset": f"There is no sweep {wanted.preset[:60]!r}. Send one of {', '.join(presets)}."})
        return SweepDefinition.model_validate(presets[wanted.preset].model_dump())
    data = _read(wanted.toml) if wanted.toml is not None else dict(wanted.definition or {})
    try:
        return SweepDefinition.model_validate(data)
    except ValidationError as error:
        raise Refused(dict(problems_by_field(error, SweepDefinition))) from None


def _read(text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise Refused({"toml": f"This is not TOML: {error}."}) from None
