"""Runs by what a user calls them: ids, names, or parts of names, with commas between."""

from __future__ import annotations

from dataclasses import dataclass, field

from webapp.runs.models import Run

MOST_PARTS = 50


@dataclass(slots=True)
class NamedRuns:
    ids: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)


def named_runs(text: str) -> NamedRuns:
    """Of a part that is an id or a whole name those runs alone; else all that have it in their name.

    A name with a comma in it is found as a whole. Capital letters are as good as small ones.
    """
    known = [(pk, name.casefold()) for pk, name in Run.objects.order_by("-created_at").values_list("pk", "name")]
    if whole := _exactly(known, text):
        return NamedRuns(ids=whole)
    found = NamedRuns()
    parts = list(dict.fromkeys(part for part in map(str.strip, text.split(",")) if part))
    for part in parts[:MOST_PARTS]:
        ids = _exactly(known, part) or [pk for pk, name in known if part.casefold() in name]
        found.ids += [pk for pk in ids if pk not in found.ids]
        if not ids:
            found.problems.append(f"No run has the id {part!r}, or that in its name.")
    if len(parts) > MOST_PARTS:
        found.problems.append(f"Only the first {MOST_PARTS} names of runs were looked for.")
    return found


def _exactly(known: list[tuple[str, str]], text: str) -> list[str]:
    return [pk for pk, name in known if text in (pk, name) or text.casefold() == name]
