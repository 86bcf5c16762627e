"""Defaults for the size of the model in the form of a new run, where its preset is made for another size."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypedDict

from engine.config import EnvironmentConfig, RunConfig
from engine.sized_defaults import RESPONSE_TOKENS as OF_AN_ENVIRONMENT
from engine.sized_defaults import changes_of, parameters_of, same_size, sized_defaults
from webapp.environments.model_access import may_be_named
from webapp.environments.models import EnvironmentVersion
from webapp.forms import run_config
from webapp.forms.texts import text_of

RESPONSE_TOKENS = "response_tokens"  # the form's input, for all environments of the run


class Change(TypedDict):
    field: str
    label: str
    value: str


class Sized(TypedDict):
    """What the form's script reads: `changes` are fields that are not as models of this size usually have them."""

    title: str
    source: str
    changes: list[Change]


def sized(config: RunConfig, preset: RunConfig) -> Sized | None:
    """None if the preset is for models of the same size, or if the size is unknown."""
    if not may_be_named(config.model.path):
        return None
    own = parameters_of(config.model.versioned_path)
    if own is None or same_size(config.model.versioned_path, preset.model.versioned_path):
        return None
    wanted = sized_defaults(own)
    return Sized(title=wanted.title, source=wanted.source, changes=_changes(config))


def _changes(config: RunConfig) -> list[Change]:
    labels = {one.name: one.label for section in run_config.sections() for one in section.fields}
    found: dict[str, Change] = {}
    for change in changes_of(config):
        of_environment = change.field.endswith(OF_AN_ENVIRONMENT)
        name = RESPONSE_TOKENS if of_environment else change.field
        label = "Tokens per response" if of_environment else labels.get(name, name)
        found[name] = Change(field=name, label=label, value=text_of(change.after))
    return list(found.values())


def response_tokens(config: Mapping[str, Any], version: EnvironmentVersion | None) -> str:
    """The limit that `config` has for its first environment; empty if it says nothing, or what the environment says."""
    named = config.get("environments") or [{}]
    own = named[0].get(OF_AN_ENVIRONMENT)
    if own is None or version is None:
        return ""
    usual = EnvironmentConfig.model_validate(version.config).max_response_tokens
    return "" if own == usual else str(own)


def with_response_tokens(environment: dict[str, Any], text: str) -> dict[str, Any]:
    """`environment` with the form's limit for one response; its own if the text is empty."""
    return {**environment, OF_AN_ENVIRONMENT: text.strip()} if text.strip() else environment
