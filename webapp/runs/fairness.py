"""The order of the queue between users.

A higher priority goes first. Among runs of the same priority the next one is that of the user with the fewest engine
slots, counting the runs that come before it in the queue; between users with as many, that of the one whose runs held
slots for less time in the last 24 hours; and of one user's runs the oldest. So a user who queues one run does not wait
for all of another one's sweep.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import groupby
from typing import Protocol, TypeVar

RECENT = timedelta(hours=24)

User = int | None  # its key; None for runs without one


class Queued(Protocol):
    @property
    def pk(self) -> str: ...
    @property
    def owner_id(self) -> int | None: ...
    @property
    def priority(self) -> int: ...
    @property
    def queued_at(self) -> datetime: ...


AnyQueued = TypeVar("AnyQueued", bound=Queued)
Held = tuple[User, datetime, datetime | None]  # who held a slot, from when, and until when; None: still


@dataclass(frozen=True, slots=True, kw_only=True)
class Use:
    """Of slots, by user: how many now, and the seconds of the last 24 hours."""

    slots: Mapping[User, int] = field(default_factory=dict)
    seconds: Mapping[User, float] = field(default_factory=dict)


def recent_seconds(held: Iterable[Held], now: datetime) -> dict[User, float]:
    """What of the last 24 hours each user's runs held slots; of several at once the sum."""
    found: Counter[User] = Counter()
    for user, since, until in held:
        length = (min(until or now, now) - max(since, now - RECENT)).total_seconds()
        found[user] += int(max(0.0, length))
    return {user: float(seconds) for user, seconds in found.items()}


def fair_order(queued: Iterable[AnyQueued], use: Use) -> list[AnyQueued]:
    """The next one first."""
    ordered = sorted(queued, key=lambda run: (-run.priority, run.queued_at, run.pk))
    slots = Counter(use.slots)
    found: list[AnyQueued] = []
    for _, same in groupby(ordered, key=lambda run: run.priority):
        found += _in_turn(list(same), slots, use.seconds)
    return found


def _in_turn(runs: Sequence[AnyQueued], slots: Counter[User], seconds: Mapping[User, float]) -> list[AnyQueued]:
    """Of runs with the same priority, oldest first; `slots` is counted up."""
    waiting: dict[User, deque[AnyQueued]] = {}
    for run in runs:
        waiting.setdefault(run.owner_id, deque()).append(run)
    found: list[AnyQueued] = []
    while waiting:
        user = min(
            waiting,
            key=lambda one: (slots[one], seconds.get(one, 0.0), waiting[one][0].queued_at, waiting[one][0].pk),
        )
        found.append(waiting[user].popleft())
        slots[user] += 1
        if not waiting[user]:
            del waiting[user]
    return found
