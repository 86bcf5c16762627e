"""A definition that a user gives, checked: `engine.suites.resolve.SuiteDraft`, with each error at its field."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from typing import Any

from django.contrib.auth.models import User
from pydantic import ValidationError

from engine.config import EnvironmentConfig, problems_by_field
from engine.environment_calls.helper import CallFailed
from engine.environments import environment_class
from engine.errors import ConfigError, StarboardError
from engine.suites.resolve import ItemDraft, Problems, SuiteDraft, TrainingProblems, resolve
from engine.suites.suite import Suite as SuiteDocument
from webapp.environments.calls import ask
from webapp.environments.models import EnvironmentVersion
from webapp.environments.restrictions import refused_class, refused_fields
from webapp.jobs import Refused
from webapp.projects.access import readable
from webapp.suites.definition_text import plain_of

LONGEST = 64 * 1024  # characters of a definition
MOST_PROBLEMS = 2048  # of an item that a user defines: a worker finds them while the page waits
FIND_SECONDS = 20.0

Errors = dict[str, str]  # by dotted field; "" for what belongs to none


class WrongFields(Refused):
    """Why a definition cannot be used, by the fields that it concerns."""

    def __init__(self, errors: Errors) -> None:
        super().__init__("; ".join(f"{field}: {reason}" if field else reason for field, reason in errors.items()))
        self.errors = errors


def read_toml(text: str) -> dict[str, Any]:
    if len(text) > LONGEST:
        raise WrongFields({"definition": f"The definition has more than {LONGEST:,} characters. Shorten it."})
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise WrongFields({"definition": f"The definition is not TOML: {error}. Correct it there."}) from None


def draft_of(data: Mapping[str, Any], user: User | None, *, name: str = "") -> SuiteDraft:
    """`data` as a draft, or `WrongFields` with everything that is wrong. A `name` replaces its own: that of a suite
    never changes."""
    environments = _environments(data)
    errors = _refused_kinds(environments, user)  # before anything looks a kind up, which would run its code
    errors = errors or _wrong_parameters(environments)
    if errors:
        raise WrongFields(errors)
    given = {**data, **({"name": name} if name else {}), "version": 1}
    try:
        draft = SuiteDraft.model_validate(given)
    except ValidationError as error:
        raise WrongFields(_first_of_each(problems_by_field(error, SuiteDraft))) from None
    if errors := _wrong_items(draft, user):
        raise WrongFields(errors)
    return SuiteDraft.model_validate({**given, **plain_of(draft)})  # with parameters as their class reads them


def resolved(draft: SuiteDraft) -> SuiteDocument:
    """The suite with its problems, which a worker looks up."""
    index = -1

    def find(item: ItemDraft) -> Problems:
        nonlocal index
        index += 1
        return _found(item)

    try:
        return resolve(draft, find=find)
    except TrainingProblems as error:
        raise WrongFields({f"items.{index}.seeds": str(error)}) from None
    except (StarboardError, CallFailed) as error:
        raise WrongFields({f"items.{index}.environment": str(error)}) from None
    except ValidationError as error:
        field = f"items.{index}.seeds" if draft.items[index].seeds else f"items.{index}.count"
        raise WrongFields({field: str(error.errors()[0]["msg"]).removeprefix("Value error, ")}) from None


def saved_environments() -> list[EnvironmentVersion]:
    """The newest version of each environment of the site."""
    versions = readable(EnvironmentVersion.objects.filter(definition__archived_at=None)).select_related("definition")
    newest: dict[int, EnvironmentVersion] = {}
    for version in versions.order_by("definition__name", "-number"):
        newest.setdefault(version.definition_id, version)
    return list(newest.values())


def _environments(data: Mapping[str, Any]) -> dict[int, Mapping[str, Any]]:
    """What each item has as its environment, whatever else is wrong with it."""
    items = data.get("items")
    listed = items if isinstance(items, list) else []
    found = {index: one.get("environment") for index, one in enumerate(listed) if isinstance(one, dict)}
    return {index: one for index, one in found.items() if isinstance(one, dict)}


def _refused_kinds(environments: Mapping[int, Mapping[str, Any]], user: User | None) -> Errors:
    errors = {}
    for index, environment in environments.items():
        kind = str(environment.get("kind", ""))
        reason = refused_class(kind, user)
        if reason and not readable(EnvironmentVersion.objects.filter(config__kind=kind)).exists():
            errors[f"items.{index}.environment.kind"] = f"{kind!r}: {reason}"
    return errors


def _wrong_parameters(environments: Mapping[int, Mapping[str, Any]]) -> Errors:
    """Each at its own field; of a kind that does not exist, `SuiteDraft` says so."""
    errors: Errors = {}
    for index, environment in environments.items():
        parameters = environment.get("parameters", {})
        try:
            kind = environment_class(str(environment.get("kind", "frozen_lake")))
        except ConfigError:
            continue
        if not isinstance(parameters, dict):
            continue
        try:
            kind.Config(**parameters)
        except ValidationError as error:
            for field, reason in problems_by_field(error, kind.Config):
                errors.setdefault(f"items.{index}.environment.parameters.{field}", reason)
    return errors


def _wrong_items(draft: SuiteDraft, user: User | None) -> Errors:
    errors: Errors = {}
    names: set[str] = set()
    for index, item in enumerate(draft.items):
        if item.name in names:
            errors[f"items.{index}.name"] = f"Another item is called {item.name!r}. Give each its own name."
        names.add(item.name)
        if max(0 if item.seeds else item.count, len(item.seeds)) > MOST_PROBLEMS:
            field = "seeds" if item.seeds else "count"
            errors[f"items.{index}.{field}"] = f"more than {MOST_PROBLEMS:,} problems. Ask for fewer."
        if len(set(item.seeds)) < len(item.seeds):
            errors[f"items.{index}.seeds"] = "A seed is listed twice. Use samples to play a problem several times."
        refused = refused_fields(item.environment, user)
        if refused and not _is_saved(item.environment):
            errors |= {f"items.{index}.environment.{field}": reason for field, reason in refused.items()}
    return errors


def _is_saved(config: EnvironmentConfig) -> bool:
    """Whether the site has an environment with these parameters, which anybody may then use, as in a run."""
    kind = environment_class(config.kind)
    given = kind.Config(**config.parameters)
    saved = readable(EnvironmentVersion.objects.filter(config__kind=config.kind))
    return any(kind.Config(**one.parsed().parameters) == given for one in saved)


def _first_of_each(problems: list[tuple[str, str]]) -> Errors:
    errors: Errors = {}
    for field, reason in problems:
        errors.setdefault(field, reason)
    return errors


def _found(item: ItemDraft) -> Problems:
    arguments = {"first_seed": item.first_seed, "count": item.count, "seeds": item.seeds}
    found = ask("held_out_problems", item.environment, seconds=FIND_SECONDS, limit=FIND_SECONDS - 1, **arguments)
    return Problems(seeds=found["seeds"], identities=found["identities"], training=found["training"])
