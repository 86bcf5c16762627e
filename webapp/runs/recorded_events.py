"""A run's recorded events, read back from their rows as the classes that the engine emitted."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeVar

from engine.events import EventBase, kind_of
from webapp.runs.models import Run

E = TypeVar("E", bound=EventBase)


def events_of(run: Run, kind: type[E], **filters: Any) -> list[E]:
    """Every event of the class `kind`, oldest first. `filters` name columns of `RunEvent`."""
    rows = run.events.filter(kind=kind_of(kind), **filters).order_by("seq")
    return [kind.model_validate(payload) for payload in rows.values_list("payload", flat=True)]


def newest_first(run: Run, kind: type[E], **filters: Any) -> Iterator[E]:
    """The same, newest first, read lazily."""
    rows = run.events.filter(kind=kind_of(kind), **filters).order_by("-seq")
    return (kind.model_validate(payload) for payload in rows.values_list("payload", flat=True).iterator())


def newest_of(run: Run, kind: type[E], **filters: Any) -> E | None:
    payload = (
        run.events.filter(kind=kind_of(kind), **filters).order_by("-seq").values_list("payload", flat=True).first()
    )
    return kind.model_validate(payload) if payload is not None else None
