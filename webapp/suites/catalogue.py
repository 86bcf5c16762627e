"""The suites that ship, as rows; and those that users define."""

from __future__ import annotations

from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.db.models import QuerySet

from engine.suites.comparability import conditions_of, key_of
from engine.suites.resolve import SuiteDraft
from engine.suites.shipped import definition_text, shipped_suites
from engine.suites.suite import Suite as SuiteDocument
from webapp.audit.services import Actor, record_of
from webapp.members.choices import project_for_new
from webapp.projects.access import readable
from webapp.projects.models import Project
from webapp.suites.drafts import WrongFields, draft_of, read_toml, resolved
from webapp.suites.models import Suite, SuiteVersion

RESERVED = ("new", "check")  # addresses


def load_shipped() -> list[SuiteVersion]:
    """Adds the versions that ship and are not there yet, and returns those. One that was never used is replaced."""
    added = []
    for document in shipped_suites().values():
        try:
            with transaction.atomic():
                made = _load(document)
        except IntegrityError:  # another process loads them too
            continue
        if made is not None:
            added.append(made)
    return added


def listed() -> QuerySet[Suite]:
    """Those that ship, and those of the projects that the reader may read."""
    return readable(Suite.objects.filter(archived_at=None)).order_by("-built_in", "name")


def define(text: str, owner: Actor, *, suite: Suite | None = None) -> SuiteVersion:
    """`save` of a definition in TOML."""
    user = owner if isinstance(owner, User) else None
    return save(draft_of(read_toml(text), user, name=suite.name if suite else ""), text, owner, suite=suite)


def save(
    draft: SuiteDraft, text: str, owner: Actor, *, suite: Suite | None = None, project: Project | None = None
) -> SuiteVersion:
    """A new suite from a draft, whose definition is `text`; or of `suite` its next version. One that was never used is
    replaced. `WrongFields` with every reason if it cannot be, as with problems of training."""
    user = owner if isinstance(owner, User) else None
    document = resolved(draft)
    with transaction.atomic():
        if suite is None:
            if document.name in RESERVED or Suite.objects.filter(name=document.name).exists():
                raise WrongFields({"name": f"there is a suite {document.name!r} already. Choose another name."})
            row = Suite.objects.create(name=document.name, owner=user, project=project or project_for_new(owner))
            record_of(row, owner, "create")
            return _add(row, document, text, number=1)
        versions = Suite.objects.select_for_update().get(pk=suite.pk).versions
        latest = versions.select_for_update().latest("number")  # an evaluation that freezes it comes before or after
        if latest.parsed() == document.model_copy(update={"version": latest.number}):
            raise WrongFields(
                {"": "The definition is the same as that of the newest version. Change it, or evaluate that version."}
            )
        record_of(suite, owner, "edit")
        if latest.frozen_at is None:
            latest.delete()
            return _add(suite, document, text, number=latest.number)
        return _add(suite, document, text, number=latest.number + 1)


def _load(document: SuiteDocument) -> SuiteVersion | None:
    suite, _ = Suite.objects.get_or_create(name=document.name, defaults={"built_in": True})
    if not suite.built_in:  # a user's own came first
        return None
    there = suite.versions.select_for_update().filter(number=document.version).first()
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
