"""Lineage: the runs that a run was forked from, and how many steps its weights have been trained for in all of them."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from webapp.projects.access import can, readable
from webapp.projects.models import Role
from webapp.runs.models import COLOURS, Run

LONGEST = 100  # ancestors that are looked up


@dataclass(frozen=True, slots=True, kw_only=True)
class Ancestor:
    """A run of which a lineage continues steps 1 to `upto`; `before` are the steps of its own ancestors.

    A fork of step 80 of a run that was itself forked at step 30: the ancestors are (upto 30, before 0) and
    (upto 80, before 30), and the fork's own step 8 is step 30 + 80 + 8 = 118 of the lineage.
    """

    id: str
    name: str
    upto: int
    before: int


def join_lineage(run: Run) -> None:
    """Sets what a run that is not saved yet has from its lineage, and its colour. `config` says what it starts from."""
    run.colour = next_colour()
    start = run.config.get("model", {}).get("start_from") or {}
    if not start.get("run"):
        return
    parent = Run.objects.filter(pk=start["run"]).first()
    run.forked_from, run.fork_step = parent, start["step"]
    known = start["step"] + parent.ancestor_steps if parent else 0
    run.ancestor_steps = known or max(start["step"], start.get("steps_before", 0))


def may_start_from(run_id: str) -> bool:
    """Whether the reader may read the run, or there is no row of it: then only its directory counts."""
    known = Run.objects.filter(pk=run_id)
    return readable(known).exists() or not known.exists()


def next_colour() -> int:
    """The one after the newest run's: any ten runs launched in a row have different colours."""
    newest = Run.objects.order_by("-created_at").values_list("colour", flat=True).first()
    return (newest or 0) % COLOURS + 1


def ancestors_of(run: Run) -> list[Ancestor]:
    """Oldest first. It ends at a run that is no longer in the database, or that the reader may not read."""
    found: list[Ancestor] = []
    child, parent = run, run.forked_from
    while parent is not None and can(parent, Role.VIEWER) and len(found) < LONGEST:
        upto = child.fork_step or 0
        found.append(Ancestor(id=parent.pk, name=parent.name, upto=upto, before=child.ancestor_steps - upto))
        child, parent = parent, parent.forked_from
    return found[::-1]


def lineage_facts(run: Run) -> dict[str, Any]:
    """What charts need to continue the curves of the ancestors."""
    return {"before": run.ancestor_steps, "ancestors": [asdict(one) for one in ancestors_of(run)]}


def is_same_lineage(one: Run, other: Run) -> bool:
    """Whether they are one run, or one is an ancestor of the other, or both are forks of a common ancestor."""
    families = [{run.pk, *(ancestor.id for ancestor in ancestors_of(run))} for run in (one, other)]
    return not families[0].isdisjoint(families[1])
