"""Which runs a comparison is of: those that its URL names, and those that a query selects at each visit.

The query has the parameters of the list of runs, and `sweep`, so that the list's address can be taken over as it is.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from django.db.models import Q
from django.http import QueryDict

from webapp.projects.access import readable
from webapp.run_pages.run_filters import FILTERS, find_runs
from webapp.runs.models import Run

MOST_RUNS = 50
WIDE = ("forked_from", "owner", "project", "environment_version__definition")
QUERY = ("q", "show", "project", "config", "archived", "sweep")  # and `tag`, which may be there several times


@dataclass(slots=True, kw_only=True)
class Selection:
    """`runs` in the order of the URL, then of the query with the newest first. `notes` say what was left out."""

    runs: list[Run]
    missing: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    by_query: bool = False


def select(query: QueryDict, most: int = MOST_RUNS) -> Selection:
    named = list(dict.fromkeys(part for part in query.get("runs", "").split(",") if part))
    found = readable(Run.objects.select_related(*WIDE)).in_bulk(named[:most])
    selection = Selection(
        runs=[found[pk] for pk in named if pk in found],
        missing=[pk for pk in named[:most] if pk not in found],
        by_query=has_query(query),
    )
    if len(named) > most:
        selection.notes.append(f"Only the first {most} of {len(named)} runs are compared.")
    if selection.by_query:
        _add_queried(selection, query, most)
    return selection


def has_query(query: QueryDict) -> bool:
    return any(query.getlist("tag")) or any(query.get(name) for name in QUERY)


def selection_query(query: QueryDict) -> str:
    """The part of the query that says which runs, as an address has it."""
    kept = query.copy()
    for name in [name for name in kept if name not in ("runs", "tag", *QUERY)]:
        del kept[name]
    return kept.urlencode(safe=",")


def query_words(query: QueryDict) -> str:
    """What the query asks for, as a sentence has it."""
    words = [f"tag {tag}" for tag in query.getlist("tag") if tag]
    if text := query.get("q"):
        words.append(f"“{text}”")
    if project := query.get("project"):
        words.append(f"project {project}")
    if show := FILTERS.get(query.get("show", "")):
        words.append(show[0].lower())
    if sweep := query.get("sweep"):
        words.append(f"sweep {sweep}")
    if query.get("config"):
        words.append("one configuration")
    if query.get("archived") == "1":
        words.append("archived")
    return ", ".join(words)


def _filled_in(query: QueryDict) -> QueryDict:
    """Without the fields that a form left empty."""
    filled = query.copy()
    for name in filled:
        filled.setlist(name, [value for value in filled.getlist(name) if value])
    return filled


def _add_queried(selection: Selection, query: QueryDict, most: int) -> None:
    runs = find_runs(_filled_in(query))
    if sweep := query.get("sweep"):
        is_id = sweep.isascii() and sweep.isdigit() and len(sweep) < 10
        runs = runs.filter(Q(planned__sweep=int(sweep)) if is_id else Q(pk__in=[]))
    runs = runs.exclude(pk__in=[run.pk for run in selection.runs])
    room = most - len(selection.runs)
    total = runs.count()
    wide = runs.select_related(*WIDE)
    selection.runs += wide.order_by("-created_at", "pk")[:room]
    if total > room:
        selection.notes.append(f"{total} runs match the query; the newest {room} are compared.")
    if not total and not selection.runs:
        selection.notes.append(f"No run matches the query ({query_words(query)}).")
