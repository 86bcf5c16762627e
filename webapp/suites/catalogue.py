"""The suites that ship, as rows; and those that users define."""

from __future__ import annotations

import tomllib
from typing import Any

from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.db.models import QuerySet
from pydantic import ValidationError

from engine.config import EnvironmentConfig, problems_by_field
from engine.environment_calls.helper import CallFailed
from engine.errors import StarboardError
from engine.suites.comparability import conditions_of, key_of
from engine.suites.resolve import ItemDraft, Problems, SuiteDraft, resolve
from engine.suites.shipped import definition_text, shipped_suites
from engine.suites.suite import Suite as SuiteDocument
from webapp.audit.services import Actor
from webapp.environments.calls import ask
from webapp.environments.restrictions import refused_class, refused_fields
from webapp.jobs import Refused
from webapp.suites.models import Suite, SuiteVersion

LONGEST = 64 * 1024  # characters of a definition
MOST_PROBLEMS = 2048  # of an item that a user defines: a worker finds them while the page waits
FIND_SECONDS = 20.0
RESERVED = ("new", "check")  # addresses


def load_shipped() -> list[SuiteVersion]:
    """Adds the versions that ship and are not there yet, and returns those. One that was never used is replaced."""
    added = []
    for document in shipped_suites().values():
        try:
            made = _load(document)
        except IntegrityError:  # another process loads them too
            continue
        if made is not None:
            added.append(made)
    return added


def listed() -> QuerySet[Suite]:
    return Suite.objects.filter(archived_at=None).order_by("-built_in", "name")


def define(text: str, owner: Actor, *, suite: Suite | None = None) -> SuiteVersion:
    """A new suite from a definition in TOML, or of `suite` its next version; one that was never used is replaced.

    `Refused` with every reason if the definition is none, or has problems of training.
    """
    user = owner if isinstance(owner, User) else None
    document = _resolved(_draft(text, suite, user), user)
    with transaction.atomic():
        if suite is None:
            if document.name in RESERVED or Suite.objects.filter(name=document.name).exists():
                raise Refused(f"name: there is a suite {document.name!r} already. Choose another name.")
            row = Suite.objects.create(name=document.name, owner=user)
            return _add(row, document, text, number=1)
        latest = Suite.objects.select_for_update().get(pk=suite.pk).latest
        if latest.parsed() == document.model_copy(update={"version": latest.number}):
            raise Refused("The definition is that of the newest version. Change it, or evaluate that one.")
        if latest.frozen_at is None:
            latest.delete()
            return _add(suite, document, text, number=latest.number)
        return _add(suite, document, text, number=latest.number + 1)


def _draft(text: str, suite: Suite | None, user: User | None) -> SuiteDraft:
    if len(text) > LONGEST:
        raise Refused(f"The definition has more than {LONGEST:,} characters.")
    try:
        data: dict[str, Any] = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise Refused(f"The definition is not TOML: {error}") from None
    for kind in _kinds(data):
        if reason := refused_class(kind, user):  # before anything looks it up, which would run its code
            raise Refused(f"{kind!r}: {reason}")
    name = {"name": suite.name} if suite is not None else {}
    try:
        draft = SuiteDraft.model_validate({**data, **name, "version": 1})
    except ValidationError as error:
        wrong = "; ".join(f"{field}: {reason}" for field, reason in problems_by_field(error, SuiteDraft))
        raise Refused(wrong) from None
    for index, item in enumerate(draft.items):
        if max(item.count, len(item.seeds)) > MOST_PROBLEMS:
            raise Refused(f"items.{index}: more than {MOST_PROBLEMS:,} problems. Ask for fewer.")
    return draft


def _kinds(data: dict[str, Any]) -> list[str]:
    """What the items of a definition name as kinds, whatever else is wrong with it."""
    items = data.get("items")
    environments = [one.get("environment") for one in items if isinstance(one, dict)] if isinstance(items, list) else []
    return [str(one.get("kind", "")) for one in environments if isinstance(one, dict)]


def _resolved(draft: SuiteDraft, user: User | None) -> SuiteDocument:
    for item in draft.items:
        if wrong := refused_fields(item.environment, user):
            raise Refused("; ".join(f"{item.name}, {field}: {reason}" for field, reason in wrong.items()))
    try:
        return resolve(draft, find=_found)
    except (StarboardError, CallFailed) as error:
        raise Refused(str(error)) from None
    except ValidationError as error:
        raise Refused("; ".join(str(one["msg"]).removeprefix("Value error, ") for one in error.errors())) from None


def _found(item: ItemDraft) -> Problems:
    """The problems of an item, looked up by a worker."""
    config: EnvironmentConfig = item.environment
    arguments = {"first_seed": item.first_seed, "count": item.count, "seeds": item.seeds}
    found = ask("held_out_problems", config, seconds=FIND_SECONDS, limit=FIND_SECONDS - 1, **arguments)
    return Problems(seeds=found["seeds"], identities=found["identities"], training=found["training"])


def _load(document: SuiteDocument) -> SuiteVersion | None:
    suite, _ = Suite.objects.get_or_create(name=document.name, defaults={"built_in": True})
    if not suite.built_in:  # a user's own came first
        return None
    there = suite.versions.filter(number=document.version).first()
    if there is not None:
        if there.frozen_at is not None or there.document == document.model_dump(mode="json"):
            return None
        there.delete()
    return _add(suite, document, definition_text(document.name), number=document.version)


def _add(suite: Suite, document: SuiteDocument, definition: str, *, number: int) -> SuiteVersion:
    numbered = document.model_copy(update={"version": number})
    return SuiteVersion.objects.create(
        suite=suite,
        number=number,
        document=numbered.model_dump(mode="json"),
        definition=definition,
        key=key_of(conditions_of(numbered)),
    )
