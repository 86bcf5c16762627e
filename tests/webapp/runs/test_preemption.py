"""Pre-emption: which runs give up their slots, for which, and only where an administrator allows it."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from tests.webapp.runs.test_queue import a_queue
from webapp.audit.models import AuditEntry
from webapp.runs.models import Run
from webapp.runs.preemption import preempt
from webapp.runs.priorities import NUMBERS, PriorityName

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def allowed(settings: Any) -> None:
    settings.STARBOARD_PREEMPTION = True
    settings.STARBOARD_MAX_PARALLEL_RUNS = 2


def set_run(name: str, state: str, priority: PriorityName = "normal", minutes: int = 0) -> None:
    started = timezone.now() - timedelta(minutes=minutes)
    Run.objects.filter(name=name).update(state=state, priority=NUMBERS[priority], started_at=started)


def preempted() -> list[str]:
    return [run.name for run in preempt()]


def test_the_run_of_the_lowest_priority_that_began_last_gives_up_its_slot() -> None:
    a_queue("old", "young", "urgent")
    set_run("old", "running", minutes=60)
    set_run("young", "running", minutes=5)
    set_run("urgent", "queued", "high")
    assert preempted() == ["young"]
    run = Run.objects.get(name="young")
    assert run.preempted == "Pre-empted by 'urgent', which has high priority." and run.state == "running"
    assert AuditEntry.objects.get(run=run).action == "preempt"
    assert preempted() == []  # its slot is for the one that waits


def test_each_waiting_run_of_higher_priority_gets_one_slot() -> None:
    a_queue("low", "normal", "first", "second")
    set_run("low", "running", "low", minutes=60)
    set_run("normal", "running", minutes=5)
    set_run("first", "queued", "high")
    set_run("second", "queued", "normal")
    # high takes the slot of low; normal does not take that of normal
    assert preempted() == ["low"]


@pytest.mark.parametrize("state", ["starting", "paused", "stalled", "stopping"])
def test_only_a_run_that_trains_is_asked(state: str) -> None:
    a_queue("a", "b", "urgent")
    set_run("a", state)
    set_run("b", state)
    set_run("urgent", "queued", "high")
    assert preempted() == []


def test_a_free_slot_is_used_first() -> None:
    a_queue("a", "urgent")
    set_run("a", "running")
    set_run("urgent", "queued", "high")
    assert preempted() == []


def test_nothing_is_pre_empted_for_a_move_in_the_queue_or_where_it_is_not_allowed(settings: Any) -> None:
    a_queue("a", "b", "moved")
    set_run("a", "running")
    set_run("b", "running")
    Run.objects.filter(name="moved").update(priority=7)
    assert preempted() == []
    set_run("moved", "queued", "high")
    settings.STARBOARD_PREEMPTION = False
    assert preempted() == []
