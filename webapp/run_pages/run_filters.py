"""Which runs the list of runs shows, as its URL says: state, words, tags, project, configuration, archive."""

from __future__ import annotations

from collections.abc import Iterator

from django.db.models import Q, QuerySet
from django.http import QueryDict

from webapp.projects.access import readable
from webapp.runs.models import Run
from webapp.runs.states import TERMINAL, RunState

FILTERS: dict[str, tuple[str, frozenset[RunState] | None]] = {
    "all": ("All", None),
    "live": ("Live", frozenset(RunState) - TERMINAL),
    "finished": ("Finished", frozenset({RunState.FINISHED})),
    "ended": ("Stopped or failed", TERMINAL - {RunState.FINISHED}),
}
MOST_WORDS = 8


def find_runs(query: QueryDict) -> QuerySet[Run]:
    """The runs that the query selects and the reader may read, in no order."""
    runs = readable(Run.objects.filter(archived_at__isnull=query.get("archived") != "1")).order_by()
    states = FILTERS.get(query.get("show", "all"), FILTERS["all"])[1]
    if states is not None:
        runs = runs.filter(state__in=states)
    for condition in _conditions(query):
        runs = runs.filter(condition)
    return runs


def words_of(text: str) -> Iterator[Q]:
    """Each word may be anywhere in what is searched; an ID is only found whole."""
    for word in text.casefold().split()[:MOST_WORDS]:
        yield Q(listed__text__contains=word) | Q(pk=word)


def _conditions(query: QueryDict) -> Iterator[Q]:
    """Each must hold."""
    yield from words_of(query.get("q", ""))
    for tag in query.getlist("tag"):
        yield Q(pk__in=Run.objects.filter(tags__name=tag).order_by().values("pk"))
    if project := query.get("project"):
        yield Q(project__slug=project) | Q(project__name=project)
    if key := query.get("config"):
        yield Q(listed__config_key=key)
