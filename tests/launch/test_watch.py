"""Questions to processes of the launcher: its loop never waits for an answer, and each counts for one process alone."""

from __future__ import annotations

import threading
import time

import pytest

from workers.launch import watch as module
from workers.launch.liveness import Answer, ProbeTimes
from workers.launch.watch import Probe, Watch

AT_ONCE = ProbeTimes(unanswered=5.0, startup=5.0, interval=1.0)


def watching(probe: Probe) -> Watch:
    watch = Watch(probe, AT_ONCE)
    watch.begin(pid=7, now=0.0)
    return watch


def answered(watch: Watch, now: float) -> bool:
    """Probes at `now`, and waits for the result, which the launcher does not do."""
    assert not watch.is_unresponsive(now)
    deadline = time.monotonic() + 10
    while watch._running is not None and not watch._running.done():
        assert time.monotonic() < deadline
        time.sleep(0.001)
    return watch.is_unresponsive(now)


def test_a_process_that_does_not_answer_hangs_after_its_time() -> None:
    asked: list[int] = []
    watch = watching(lambda pid: asked.append(pid) is not None)
    assert not watch.is_unresponsive(0.9)
    assert [answered(watch, now) for now in (1.0, 2.0, 3.0, 4.0, 5.0)] == [False, False, False, False, True]
    assert asked == [7, 7, 7, 7, 7]


def test_the_launcher_goes_on_while_a_probe_runs_and_starts_no_other() -> None:
    asked, release = [], threading.Event()

    def probe(pid: int) -> Answer:
        asked.append(pid)
        return release.wait(30) and None

    watch = watching(probe)
    began = time.monotonic()
    for now in range(1, 100):
        assert not watch.is_unresponsive(float(now))
    assert time.monotonic() - began < 5
    assert asked == [7]
    release.set()


def test_the_answer_of_a_process_that_was_ended_does_not_count_for_the_next_one() -> None:
    release = threading.Event()
    watch = watching(lambda pid: release.wait(30))
    assert not watch.is_unresponsive(1.0)
    awaited = watch._running
    watch.begin(pid=8, now=2.0)
    release.set()
    assert awaited is not None and awaited.result(10) is True
    assert not watch.is_unresponsive(2.5)
    assert not watch.liveness.has_answered


def test_a_probe_that_fails_unforeseen_is_no_reason_to_end_a_process() -> None:
    def probe(pid: int) -> Answer:
        raise ValueError("not foreseen")

    watch = watching(probe)
    assert not any(answered(watch, float(now)) for now in range(1, 30))


def test_no_thread_to_ask_in_is_no_reason_either(monkeypatch: pytest.MonkeyPatch) -> None:
    class NoThread(threading.Thread):
        def start(self) -> None:
            raise RuntimeError("can't start new thread")

    monkeypatch.setattr(module, "Thread", NoThread)
    watch = watching(lambda pid: False)
    assert not any(answered(watch, float(now)) for now in range(1, 30))
