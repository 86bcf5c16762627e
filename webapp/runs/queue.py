"""The queue of runs: at most `STARBOARD_MAX_PARALLEL_RUNS` engines at once, by priority, then in turn between users
(`fairness`).

A queued run is a row and uses no resources. What it waits for is written in the row; pages also show its position and
link to the runs that hold the slots.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

from django.conf import settings
from django.db import transaction
from django.db.models import Q, QuerySet
from django.utils import timezone

from webapp.audit.services import Actor, record
from webapp.quotas.limits import runs_at_once_of, who_can_raise
from webapp.runs.fairness import RECENT, Use, fair_order, recent_seconds
from webapp.runs.models import Run
from webapp.runs.priorities import PriorityName, priority_name
from webapp.runs.services import NO_WORKER_YET
from webapp.runs.states import SUPERVISED, RunState
from webapp.updates import publish_run

MANY = 20  # positions that are written into rows; every change of the queue would rewrite those of thousands
NAMED = 3  # runs that hold slots
NAME_LENGTH = 40
OTHER = "a run of another project"
REASON_LENGTH = 200

Direction = Literal["up", "down", "first"]
QUEUE_FIELDS = ("pk", "name", "owner_id", "state", "priority", "queued_at", "wait_reason", "last_seq", "project_id")


class Holder(NamedTuple):
    """A run that has an engine slot."""

    pk: str
    name: str
    state: str
    last_seq: int = 0
    project_id: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """Where a run stands. `words` are text and the runs that it names; `position` is 0 for a run that is not queued."""

    words: list[str | Holder]
    position: int = 0
    length: int = 0

    @property
    def text(self) -> str:
        parts = [word if isinstance(word, str) else f"'{_short(word.name)}'" for word in self.words]
        return "".join(parts)[:REASON_LENGTH]

    def after(self, reason: str) -> Standing:
        """With why the run is in the queue again, if there is a reason."""
        return replace(self, words=[f"{reason} ", *self.words]) if reason else self

    def limited_to(self, runs: int | None) -> Standing:
        """Of a run that waits for another one of its user, who may have so many at once; the same if there is no such
        limit."""
        if runs is None:
            return self
        which = "no runs" if runs == 0 else "one run" if runs == 1 else f"{runs} runs"
        words = f"Waits for another run of its user to end: the quota allows {which} at once. {who_can_raise()}"
        return replace(self, words=[words])

    def as_json(self) -> dict[str, object]:
        words = [word if isinstance(word, str) else {"run": word.pk, "name": word.name} for word in self.words]
        return {"words": words, "position": self.position, "length": self.length}


def slots() -> int:
    return int(getattr(settings, "STARBOARD_MAX_PARALLEL_RUNS", 1))


def due() -> list[str]:
    """The queued runs that have a slot, the next one first: those that restart in their own, then those that get a free
    one."""
    restarting = Run.objects.filter(state=RunState.QUEUED, restart_pause=0).order_by("queued_at")
    found = list(restarting.values_list("pk", flat=True))
    free = slots() - Run.objects.filter(_holds_a_slot()).count()
    if free <= 0:
        return found
    queued = waiting()
    limited = beyond_limit(queued)
    return found + [run.pk for run in queued if run.pk not in limited][:free]


def beyond_limit(queued: Sequence[Run]) -> dict[str, int]:
    """Of the queue in its order: the runs that wait until another run of their user ends, with the number that the user
    may have at once."""
    limits = runs_at_once_of({run.owner_id for run in queued})
    if not limits:
        return {}
    holding: Iterable[int | None] = Run.objects.filter(_holds_a_slot()).values_list("owner_id", flat=True)
    counted = Counter(holding)
    found: dict[str, int] = {}
    for run in queued:
        counted[run.owner_id] += 1
        if run.owner_id in limits and counted[run.owner_id] > limits[run.owner_id]:
            found[run.pk] = limits[run.owner_id]
    return found


def waiting() -> list[Run]:
    """The queue in its order; of each run what that order is made of."""
    return _in_order(_queued())


def _queued() -> QuerySet[Run]:
    return Run.objects.filter(state=RunState.QUEUED).exclude(_holds_a_slot()).only(*QUEUE_FIELDS)


def _in_order(queued: QuerySet[Run]) -> list[Run]:
    runs = list(queued)
    users = {run.owner_id for run in runs}
    return fair_order(runs, _use() if len(users) > 1 else Use())


def _use() -> Use:
    """Of the slots, by user."""
    now = timezone.now()
    holding: Iterable[int | None] = Run.objects.filter(_holds_a_slot()).values_list("owner_id", flat=True)
    held = Run.objects.filter(imported_from="", started_at__isnull=False).filter(
        Q(state__in=SUPERVISED) | Q(finished_at__gte=now - RECENT)
    )
    times = held.values_list("owner_id", "started_at", "finished_at")
    recent = [(user, since, until) for user, since, until in times if since is not None]
    return Use(slots=Counter(holding), seconds=recent_seconds(recent, now))


def _holds_a_slot() -> Q:
    """A run keeps its slot while it is paused, and between a failure and its restart."""
    return Q(state__in=SUPERVISED) | Q(state=RunState.QUEUED, restart_pause__isnull=False)


def holders() -> list[Holder]:
    """The runs that have engine slots, those that were queued first before others."""
    rows = (
        Run.objects.filter(_holds_a_slot())
        .order_by("queued_at")
        .values_list("pk", "name", "state", "last_seq", "project_id")
    )
    return [Holder(*row) for row in rows]


def report() -> None:
    """Writes into the rows of queued runs what they wait for, and notifies pages where that has changed: theirs, and
    those of paused runs that hold them up."""
    holding = holders()
    queued = waiting()
    limited = beyond_limit(queued)
    changed: dict[str, int] = {}
    for position, run in enumerate(queued, start=1):
        standing = standing_at(position, len(queued), holding, slots(), priority_name(run.priority), run.project_id)
        reason = standing.limited_to(limited.get(run.pk)).text
        if position > MANY:
            reason = f"Waits for more than {MANY} queued runs before it"
        if reason != run.wait_reason:
            Run.objects.filter(pk=run.pk, state=RunState.QUEUED).update(wait_reason=reason)
            changed[run.pk] = run.last_seq
    if changed:
        changed |= {holder.pk: holder.last_seq for holder in holding if holder.state == RunState.PAUSED}
    for pk, seq in changed.items():
        publish_run(pk, seq)


def standings(runs: Sequence[Run]) -> dict[str, Standing]:
    """Of those of the runs that are in the queue, or paused while others wait; with as many queries as for one. A run
    that restarts after a failure is not among them: it has kept its slot."""
    concerned = [run for run in runs if run.shown_as in (RunState.QUEUED, RunState.PAUSED)]
    if not concerned:
        return {}
    queued = waiting()
    limited = beyond_limit(queued)
    queue = {run.pk: position for position, run in enumerate(queued, start=1)}
    holding = holders()
    found = {
        run.pk: standing_at(queue[run.pk], len(queue), holding, slots(), priority_name(run.priority), run.project_id)
        .limited_to(limited.get(run.pk))
        .after(run.state_reason)
        for run in concerned
        if run.pk in queue
    }
    if queue and len(holding) >= slots():
        paused = Standing(
            words=[f"It holds its engine slot, and {_waiting_runs(len(queue))} for it: resume or stop it."]
        )
        found |= {run.pk: paused for run in concerned if run.state == RunState.PAUSED}
    return found


def standing_at(
    position: int,
    length: int,
    holders: list[Holder],
    slots: int,
    priority: PriorityName = "normal",
    project_id: int | None = None,
) -> Standing:
    """Of the run at `position` (from 1) of `length`, while `holders` have slots. Those of other projects than the run's
    are not named: whoever reads it may not read them."""
    if position <= slots - len(holders):
        return Standing(words=[NO_WORKER_YET], position=position, length=length)
    priority_words = "" if priority == "normal" else f", with {priority} priority"
    words: list[str | Holder] = [f"{_ordinal(position)} of {length} in the queue{priority_words}. Waits for "]
    paused = [holder for holder in holders if holder.state == RunState.PAUSED]
    if len(holders) < slots and not paused:
        words.append(f"the runs before it ({len(holders)} of {slots} engine slots in use)")
        return Standing(words=words, position=position, length=length)
    named = (paused or holders)[:NAMED]
    for index, holder in enumerate(named):
        words += [" or "] * (index > 0) + [holder if holder.project_id == project_id else OTHER]
    if paused:
        words.append(_paused_words(len(paused), slots))
    else:
        words.append(f" to finish ({len(holders)} of {slots} engine slots in use)")
    return Standing(words=words, position=position, length=length)


def _paused_words(count: int, slots: int) -> str:
    if count > 1:
        return ", which are paused and hold slots: resume or stop one"
    return f", which is paused and holds {'the' if slots == 1 else 'a'} slot: resume or stop it"


def _waiting_runs(count: int) -> str:
    return "1 queued run waits" if count == 1 else f"{count} queued runs wait"


def _short(name: str) -> str:
    return name if len(name) <= NAME_LENGTH else f"{name[: NAME_LENGTH - 1]}…"


def _ordinal(number: int) -> str:
    teens = 10 < number % 100 < 20
    return f"{number}{'th' if teens else {1: 'st', 2: 'nd', 3: 'rd'}.get(number % 10, 'th')}"


def reorder(run: Run, user: Actor, direction: Direction | int) -> bool:
    """Moves the run in the queue, or to a position from 1, by setting priorities; False if it is not queued or already
    there."""
    with transaction.atomic():
        queue = _in_order(_queued().select_for_update())
        before = next((index for index, one in enumerate(queue) if one.pk == run.pk), None)
        after = _target(before, len(queue), direction)
        moved = before is not None and before != after
        if before is not None and moved:
            queue.insert(after, queue.pop(before))
            for pk, priority in _new_priorities(queue, after).items():
                Run.objects.filter(pk=pk).update(priority=priority)
        positions = {"from": _ordinal(before + 1), "to": _ordinal(after + 1)} if before is not None and moved else {}
        action = "queue_to" if isinstance(direction, int) else f"queue_{direction}"
        record(run, user, action, moved, **positions)
    run.refresh_from_db()
    transaction.on_commit(report)
    return moved


def _target(before: int | None, length: int, direction: Direction | int) -> int:
    if before is None or direction == "first":
        return 0
    if isinstance(direction, int):
        return min(max(1, direction), length) - 1
    return max(0, before - 1) if direction == "up" else min(length - 1, before + 1)


def _new_priorities(order: Sequence[Run], last: int) -> dict[str, int]:
    """Those that have to rise so that all runs up to the index `last` keep this order, whoever's turn it is. Nobody
    rises higher than that needs, and what follows stays in turn between users."""
    changed: dict[str, int] = {}
    following = order[last + 1] if last + 1 < len(order) else None
    users = {one.owner_id for one in order[last + 1 :] if following and one.priority == following.priority}
    for run in reversed(order[: last + 1]):
        if following is not None:
            is_older = (run.queued_at, run.pk) < (following.queued_at, following.pk)
            needed = following.priority + (0 if is_older and users == {run.owner_id} else 1)
            if run.priority < needed:
                changed[run.pk] = run.priority = needed
        is_level = following is not None and run.priority == following.priority
        users = users | {run.owner_id} if is_level else {run.owner_id}
        following = run
    return changed
