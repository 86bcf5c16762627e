"""Calls on environments from a page to a worker and back, and pre-flights, with real processes."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import pytest
from django.test import Client
from pytest_django import Settings

from engine.config import EnvironmentConfig
from engine.environment_calls.helper import CallFailed
from tests.workers.workplace import Workplace, wait_for
from webapp import worker_calls
from webapp.environments import calls
from webapp.environments.models import EnvironmentVersion, Preflight
from webapp.environments.services import define_unmeasured
from webapp.jobs import JobState
from workers import preflights
from workers.preflights import HeldPreflight

MODULE = "tests.engine.environment_calls.misbehaving"
LAKE = EnvironmentConfig.model_validate({"kind": "frozen_lake"})


@pytest.fixture(autouse=True)
def fresh_client() -> None:
    worker_calls._redis.cache_clear()


@pytest.fixture(autouse=True)
def own_data_dir(settings: Settings, tmp_path: Path) -> None:
    settings.STARBOARD_DATA_DIR = str(tmp_path)


def test_without_a_worker_the_reason_is_named(workplace: Workplace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker_calls, "TAKEN_SECONDS", 0.3)
    with pytest.raises(CallFailed, match=r"No worker picked this up within 0\.3 s") as failed:
        calls.ask("lengths", LAKE)
    assert failed.value.unasked


def test_without_redis_the_reason_is_named(settings: Settings) -> None:
    settings.REDIS_URL = "unix:///nowhere/at/all.sock"
    with pytest.raises(CallFailed, match="The queue cannot be reached"):
        calls.ask("lengths", LAKE)


@pytest.mark.slow
def test_a_worker_answers_measures_and_survives_an_environment_that_hangs(workplace: Workplace) -> None:
    version = define_unmeasured(name="Lake", config=LAKE)
    workplace.start_worker()
    wait_for(lambda: "baselines" in EnvironmentVersion.objects.get(pk=version.pk).facts, what="measured")
    begun = time.monotonic()
    assert len(calls.ask("states", LAKE, first_seed=1)["states"]) == 4
    assert time.monotonic() - begun < 2
    hanging = EnvironmentConfig.model_validate({"kind": f"{MODULE}:Hangs"})
    with pytest.raises(CallFailed, match="did not answer within 1 s"):
        calls.ask("play", hanging, seconds=1.0, seed=1, responses=[])
    assert calls.ask("play", LAKE, seed=1, responses=[])["now"]["stop"] == ""


def preflight(kind: str, **fields: object) -> Preflight:
    config = EnvironmentConfig.model_validate({"kind": kind, "tag": "E"})
    version = define_unmeasured(name="E", config=config)
    values = {"player": "random", "problems": 3, "rollouts": 2, **fields}
    return Preflight.objects.create(version=version, config=version.config, **values)


@pytest.mark.django_db(transaction=True)
def test_a_preflight_is_played_to_its_report(browser_of_ada: Client) -> None:
    made = preflight("bandit")
    assert HeldPreflight.play(made.pk, threading.Event())
    made.refresh_from_db()
    assert (made.state, made.message) == (JobState.FINISHED, "")
    assert (made.report["played"], made.report["rollouts"]) == (6, 2)
    page = browser_of_ada.get(f"/environments/{made.version.definition_id}/preflight/").content.decode()
    assert made.report["verdict"]["text"].partition("'")[0] in page


@pytest.mark.django_db(transaction=True)
def test_a_preflight_that_hangs_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(preflights, "PLAYER_SECONDS", 3.0)
    made = preflight(f"{MODULE}:Hangs")
    assert HeldPreflight.play(made.pk, threading.Event())
    made.refresh_from_db()
    assert (made.state, made.message) == (
        JobState.FAILED, "It took longer than 3 s. Play fewer problems or rollouts.",
    )  # fmt: skip


@pytest.mark.django_db(transaction=True)
def test_an_environment_that_ends_the_process_fails_its_preflight() -> None:
    made = preflight(f"{MODULE}:Dies")
    assert HeldPreflight.play(made.pk, threading.Event())
    made.refresh_from_db()
    assert made.state == JobState.FAILED
    assert made.message.startswith("The engine ended with exit status 5.")


@pytest.mark.django_db(transaction=True)
def test_an_error_that_the_engine_reports_is_the_reason_of_the_failure() -> None:
    made = preflight(f"{MODULE}:Unreachable")
    assert HeldPreflight.play(made.pk, threading.Event())
    made.refresh_from_db()
    assert (made.state, made.message) == (
        JobState.FAILED, "The server of sounds cannot be reached. Start it.",
    )  # fmt: skip


@pytest.fixture
def browser_of_ada(client: Client, django_user_model: object) -> Client:
    client.force_login(django_user_model.objects.create_user("ada"))  # type: ignore[attr-defined]
    return client
