"""A worker announces itself only while the loop in which it takes tasks goes on, since the thread that announces it
would go on without.
"""

from __future__ import annotations

import itertools
import time

import pytest

from webapp.monitoring import presence
from webapp.monitoring.presence import Announcer
from workers.presence import LONGEST_ROUND, TaskLoop


def test_a_loop_that_has_not_come_round_for_twenty_seconds_takes_no_tasks() -> None:
    now = 100.0
    loop = TaskLoop(clock=lambda: now)
    now = 120.0
    assert LONGEST_ROUND == 20.0 and loop.takes_tasks()
    now = 120.1
    assert not loop.takes_tasks()
    loop.note_round()
    assert loop.takes_tasks()


def wait_for_another(announced: list[float]) -> None:
    before, deadline = len(announced), time.monotonic() + 10
    while len(announced) == before:
        assert time.monotonic() < deadline
        time.sleep(0.005)


@pytest.fixture
def announced(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """When a process was announced."""
    times: list[float] = []
    monkeypatch.setattr(presence, "ANNOUNCE_SECONDS", 0.01)
    monkeypatch.setattr(presence, "announce", lambda kind, facts: times.append(time.monotonic()))
    monkeypatch.setattr(presence, "withdraw", lambda kind: None)
    return times


def test_facts_that_cannot_be_had_once_do_not_end_the_announcements(announced: list[float]) -> None:
    calls = itertools.count(1)

    def facts() -> dict[str, object]:
        if next(calls) == 2:
            raise RuntimeError("dictionary changed size during iteration")
        return {}

    announcer = Announcer("worker", facts)
    wait_for_another(announced)
    wait_for_another(announced)
    announcer.stop()
    assert next(calls) > 3


def test_a_process_is_announced_while_it_works_and_again_when_it_works_again(announced: list[float]) -> None:
    works = True
    announcer = Announcer("worker", dict, lambda: works)
    wait_for_another(announced)
    works = False
    time.sleep(0.1)
    before = len(announced)
    time.sleep(0.2)
    assert len(announced) == before
    works = True
    wait_for_another(announced)
    announcer.stop()
