"""Processes of the launcher: restarts with growing pauses, and the end of one that is suspended."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from workers.launch.children import Child


@pytest.fixture
def child(tmp_path: Path) -> Iterator[Child]:
    one = Child("sleeper", [sys.executable, "-c", "import time; time.sleep(600)"], tmp_path / "log", {})
    one.start()
    yield one
    if not one.has_ended():
        one.kill()


def test_pauses_double_up_to_a_minute_while_a_process_keeps_ending(child: Child) -> None:
    child.started_at = 100.0
    assert [child.plan_restart(101.0) for _ in range(8)] == [1, 2, 4, 8, 16, 32, 60, 60]
    assert child.restart_at == 161.0


def test_pauses_begin_at_a_second_after_a_process_has_lived_for_a_minute(child: Child) -> None:
    child.started_at = 100.0
    assert [child.plan_restart(101.0), child.plan_restart(102.0)] == [1, 2]
    assert child.plan_restart(161.0) == 1


def test_a_suspended_process_is_frozen_after_its_time_and_not_before(child: Child) -> None:
    assert child.process is not None
    assert not child.is_frozen(0.0)
    os.kill(child.process.pid, signal.SIGSTOP)
    deadline = time.monotonic() + 10
    while child.suspended_since is None and time.monotonic() < deadline:
        assert not child.is_frozen(1000.0)
    assert not child.is_frozen(1029.0)
    assert child.is_frozen(1030.0)
    child.kill()
    assert child.has_ended()


def test_a_process_that_goes_on_again_is_not_frozen(child: Child) -> None:
    assert child.process is not None
    os.kill(child.process.pid, signal.SIGSTOP)
    deadline = time.monotonic() + 10
    while child.suspended_since is None and time.monotonic() < deadline:
        child.is_frozen(1000.0)
    os.kill(child.process.pid, signal.SIGCONT)
    while child.suspended_since is not None and time.monotonic() < deadline:
        child.is_frozen(1010.0)
    assert not child.is_frozen(1100.0)
