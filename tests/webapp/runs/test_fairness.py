"""The order of the queue between users, worked out by hand."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from tests.webapp.runs.test_queue import a_queue, order
from webapp.runs import queue
from webapp.runs.fairness import Use, fair_order, recent_seconds
from webapp.runs.models import Run

NOON = datetime(2026, 1, 2, 12, tzinfo=UTC)
ADA, BOB, EVE = 1, 2, 3


@dataclass(frozen=True)
class Row:
    pk: str
    owner_id: int | None
    queued_at: datetime
    priority: int = 0


def rows(text: str, **priorities: int) -> list[Row]:
    """`a1 a2 b1`: runs of Ada and Bob, queued a minute apart in this order."""
    owners = {"a": ADA, "b": BOB, "e": EVE}
    return [
        Row(pk, owners[pk[0]], NOON + timedelta(minutes=minute), priorities.get(pk, 0))
        for minute, pk in enumerate(text.split())
    ]


def ordered(queued: list[Row], use: Use | None = None) -> str:
    return " ".join(row.pk for row in fair_order(queued, use or Use()))


def test_one_user_s_runs_go_oldest_first() -> None:
    assert ordered(list(reversed(rows("a1 a2 a3")))) == "a1 a2 a3"


def test_users_take_turns() -> None:
    # a1 is the oldest of users with no slot; then Bob has none and Ada one; then both have one, and a2 is older
    assert ordered(rows("a1 a2 a3 b1 b2")) == "a1 b1 a2 b2 a3"


def test_the_user_with_fewer_slots_goes_first() -> None:
    # Ada has two slots: Bob gets as many before it is her turn, at two each her run is older
    assert ordered(rows("a1 a2 b1 b2 b3"), Use(slots={ADA: 2})) == "b1 b2 a1 b3 a2"


def test_between_users_with_as_many_slots_the_one_with_less_recent_time_goes_first() -> None:
    use = Use(seconds={ADA: 3600.0, BOB: 60.0})
    # Eve has used none; then Bob, then Ada; then all have one, again by their time
    assert ordered(rows("a1 a2 b1 b2 e1"), use) == "e1 b1 a1 b2 a2"


def test_a_higher_priority_goes_first_and_counts_as_a_slot() -> None:
    # a2 is first by its priority; Ada has one then, so Bob is next, and then her a1 is older than b2
    assert ordered(rows("a1 a2 b1 b2", a2=1)) == "a2 b1 a1 b2"


def test_time_is_that_of_the_last_day() -> None:
    hours = timedelta(hours=1)
    held = [
        (ADA, NOON - 30 * hours, NOON - 23 * hours),  # one hour of it is of the last 24
        (ADA, NOON - 2 * hours, None),  # goes on
        (BOB, NOON - 50 * hours, NOON - 25 * hours),
    ]
    assert recent_seconds(held, NOON) == {ADA: 3 * 3600.0, BOB: 0.0}


@pytest.mark.django_db
def test_a_user_with_one_run_does_not_wait_for_another_one_s_sweep() -> None:
    ada, bob = User.objects.create_user("ada"), User.objects.create_user("bob")
    a_queue(*"abcdx")
    Run.objects.exclude(name="x").update(owner=ada)
    Run.objects.filter(name="x").update(owner=bob)
    assert order() == "axbcd"
    Run.objects.filter(name="a").update(state="running", started_at=timezone.now())
    assert order() == "xbcd"


@pytest.mark.django_db
def test_a_position_given_by_hand_comes_before_turns() -> None:
    ada, bob = User.objects.create_user("ada"), User.objects.create_user("bob")
    a_queue(*"abxy")
    Run.objects.filter(name__in="ab").update(owner=ada)
    Run.objects.filter(name__in="xy").update(owner=bob)
    assert order() == "axby"
    # once b is first, ada has had a turn
    for name, position, expected in (("b", 1, "bxay"), ("y", 2, "byax"), ("b", 4, "yaxb"), ("a", 2, None)):
        moved = queue.reorder(Run.objects.get(name=name), None, position)
        assert moved is (expected is not None)
        assert expected is None or order() == expected
