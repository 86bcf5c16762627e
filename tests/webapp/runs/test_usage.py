"""The usage of a run: device hours over all attempts, and their cost if prices are set."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from pytest_django import Settings

from engine.events import PhaseChanged, RunStarted
from tests.webapp.event_rows import add_event
from tests.webapp.runs.rows import a_run
from webapp.runs.models import Run
from webapp.runs.usage import usage

pytestmark = pytest.mark.django_db


def start(run: Run, seq: int, time: float, device: str = "cuda") -> None:
    started = RunStarted(step=0, total_steps=9, pid=1, device=device, model="tiny", parameters=1)
    add_event(run, started, seq=seq, time=time)


def at(run: Run, time: float) -> Run:
    run.last_progress = datetime.fromtimestamp(time, UTC)
    return run


def test_attempts_count_from_their_start_to_their_last_event() -> None:
    run = a_run()
    start(run, 1, 1000.0)
    add_event(run, PhaseChanged(step=0, phase="rollout"), seq=2, time=4600.0)  # one hour later, then the engine ended
    start(run, 3, 9000.0)
    used = usage(at(run, 10_800.0))  # half an hour into the second attempt
    assert (used["device_hours"], used["unit"], used["devices"], used["cost"]) == (1.5, "GPU hours", 1, None)
    assert used["text"] == "1.50 GPU hours"


def test_a_configured_price_gives_a_cost(settings: Settings) -> None:
    settings.CPU_HOUR_PRICE, settings.CURRENCY = 0.5, "EUR"
    run = a_run()
    start(run, 1, 0.0, device="cpu")
    used = usage(at(run, 7200.0))
    assert (used["cost"], used["text"]) == (1.0, "2.00 CPU hours, 1.00 EUR")


def test_all_devices_of_a_cluster_count() -> None:
    run = a_run()
    run.config |= {"backend": "ray", "cluster": {"samplers": 2, "tensor_parallel": 2, "learners": 3}}
    start(run, 1, 0.0)
    assert usage(at(run, 3600.0))["device_hours"] == 7.0  # 2 * 2 + 3
    run.config["cluster"]["placement"] = "colocated"
    assert usage(at(run, 3600.0))["device_hours"] == 4.0


def test_a_run_that_never_started_has_no_usage() -> None:
    assert usage(a_run())["device_hours"] == 0.0
