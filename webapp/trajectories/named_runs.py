"""Runs by ids, names or parts of names, separated by commas."""

from __future__ import annotations

from dataclasses import dataclass, field

from webapp.projects.access import readable
from webapp.runs.models import Run

MOST_PARTS = 50


@dataclass(slots=True)
class NamedRuns:
    ids: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)


def named_runs(text: str) -> NamedRuns:
    """Each part matches the run with that id or name; if there is none, all runs with it in their name.

    A name that contains a comma is matched as a whole. Case is ignored.
    """
    known = [
        (pk, name.casefold()) for pk, name in readable(Run.objects.order_by("-created_at")).values_list("pk", "name")
    ]
    if whole := _exactly(known, text):
        return NamedRuns(ids=whole)
    found = NamedRuns()
    parts = list(dict.fromkeys(part for part in map(str.strip, text.split(",")) if part))
    for part in parts[:MOST_PARTS]:
        ids = _exactly(known, part) or [pk for pk, name in known if part.casefold() in name]
        found.ids += [pk for pk in ids if pk not in found.ids]
        if not ids:
            found.problems.append(f"No run has the id {part!r} or a name that contains it.")
    if len(parts) > MOST_PARTS:
        found.problems.append(f"Only the first {MOST_PARTS} run names were used.")
    return found


def _exactly(known: list[tuple[str, str]], text: str) -> list[str]:
    return [pk for pk, name in known if text in (pk, name) or text.casefold() == name]
