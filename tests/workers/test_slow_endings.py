"""Stopping an engine that takes long to save: it gets time, but not without limit."""

from __future__ import annotations

import pytest

from tests.workers.workplace import Workplace, wait_for_state
from webapp.runs import services

pytestmark = pytest.mark.slow


def test_an_engine_that_saves_longer_than_the_grace_period_is_not_interrupted(workplace: Workplace) -> None:
    workplace.limits = {"stop_grace": 3.0, "term_grace": 0.5}
    workplace.start_worker()
    run = wait_for_state(workplace.submit(steps=1000, save_seconds=6), "running")
    services.request_stop(run)
    run = wait_for_state(run, "stopped")
    assert run.state_reason == "Stopped on request."
    assert run.stop_proof["how"] == "by itself"
    assert run.checkpoints.filter(reason="final").exists()


def test_an_engine_that_never_stops_saving_is_ended(workplace: Workplace) -> None:
    workplace.limits = {"stop_grace": 2.0, "finish_grace": 4.0, "term_grace": 0.5}
    workplace.start_worker()
    run = wait_for_state(workplace.submit(steps=1000, save_seconds=600), "running")
    services.request_stop(run)
    assert wait_for_state(run, "stopped").stop_proof["how"] == "killed"


def test_a_second_stop_request_ends_it_at_once(workplace: Workplace) -> None:
    workplace.limits = {"term_grace": 0.5}
    workplace.start_worker()
    run = wait_for_state(workplace.submit(steps=1000, save_seconds=600), "running")
    for _ in range(2):
        services.request_stop(run)
    assert wait_for_state(run, "stopped").stop_proof["how"] == "killed"
