"""Evaluations on suites on the worker: by real engines, with episodes in rows, stopped and resumed without loss."""

from __future__ import annotations

import shutil
import threading
from pathlib import Path

import pytest
from django.utils import timezone
from pytest_django import Settings

from engine.suites.outcomes import PARTS, read_outcomes
from tests.engine.evaluation.chat_server import Answer, Asked, serving
from tests.workers.workplace import wait_for
from webapp.jobs import JobState
from webapp.suites import catalogue, services
from webapp.suites.models import SuiteEvaluation, SuiteVersion
from workers import lease
from workers.job_kinds import KINDS
from workers.suite_evaluations import HeldSuiteEvaluation

LAKES = """name = "lakes"
[[items]]
name = "Lake"
environment = { kind = "frozen_lake", max_turns = 2, max_actions = 4 }
count = 16
"""


@pytest.fixture
def version(transactional_db: None, settings: Settings, tmp_path: Path) -> SuiteVersion:
    settings.STARBOARD_DATA_DIR = tmp_path
    settings.STARBOARD_ENGINE_COMMAND = None
    return catalogue.define(LAKES, None)


def at_endpoint(version: SuiteVersion, address: str) -> SuiteEvaluation:
    fields = {"policy": "endpoint", "model": "moves", "endpoint": address, "weights": "0" * 64}
    return services.create(version, fields, owner=None)


def play(evaluation: SuiteEvaluation) -> SuiteEvaluation:
    assert HeldSuiteEvaluation.play(evaluation.pk, threading.Event())
    evaluation.refresh_from_db()
    return evaluation


def scored(evaluation: SuiteEvaluation) -> set[str]:
    return {outcome.problem for outcome in read_outcomes(evaluation.folder) if outcome.scored}


def test_workers_play_evaluations_on_suites() -> None:
    assert HeldSuiteEvaluation in KINDS


@pytest.mark.slow
def test_a_stopped_evaluation_keeps_its_episodes_and_goes_on_where_it_ended(version: SuiteVersion) -> None:
    slow = threading.Event()

    def script(asked: Asked, number: int) -> Answer | None:
        return Answer(delay=60.0) if number >= 20 and not slow.is_set() else None  # the rest waits for the stop

    with serving(script) as server:
        evaluation = at_endpoint(version, server.address)
        playing = threading.Thread(target=HeldSuiteEvaluation.play, args=[evaluation.pk, threading.Event()])
        playing.start()
        wait_for(lambda: len(server.asked) > 22, seconds=60, what="requests of an evaluation")
        assert evaluation.stop()
        playing.join(60)
        evaluation.refresh_from_db()
        assert evaluation.state == JobState.STOPPED
        kept = scored(evaluation)
        assert evaluation.played == evaluation.items.get().played == len(kept)
        assert 0 < len(kept) < 16
        slow.set()
        services.resume(evaluation)
        before = len(server.asked)
        play(evaluation)
    assert (evaluation.state, evaluation.message, evaluation.played, evaluation.scored) == ("finished", "", 16, 16)
    first = [one for one in server.asked[before:] if len(one.payload["messages"]) == 2]
    assert len(first) == 16 - len(kept)
    assert evaluation.success == evaluation.successes / 16
    assert len(evaluation.items.get().solved) == 2  # a bit for each of 16 episodes
    assert evaluation.versions["python"]


@pytest.mark.slow
def test_an_evaluation_whose_worker_is_shut_down_is_queued_again_and_no_episode_is_played_twice(
    version: SuiteVersion,
) -> None:
    goes_on = threading.Event()

    def script(asked: Asked, number: int) -> Answer | None:
        return Answer(delay=60.0) if number >= 20 and not goes_on.is_set() else None

    with serving(script) as server:
        evaluation, shutdown = at_endpoint(version, server.address), threading.Event()
        playing = threading.Thread(target=HeldSuiteEvaluation.play, args=[evaluation.pk, shutdown])
        playing.start()
        wait_for(lambda: len(server.asked) > 22, seconds=60, what="requests of an evaluation")
        shutdown.set()
        playing.join(60)
        evaluation.refresh_from_db()
        assert (evaluation.state, evaluation.losses, evaluation.ended_at) == ("queued", 1, None)
        assert evaluation.message == "The worker was shut down. Another one continues."
        kept = scored(evaluation)
        assert 0 < len(kept) < 16
        goes_on.set()
        before = len(server.asked)
        play(evaluation)
    assert (evaluation.state, evaluation.message, evaluation.scored) == ("finished", "", 16)
    assert evaluation.losses == 0  # it has had new episodes since
    first = [one for one in server.asked[before:] if len(one.payload["messages"]) == 2]
    assert len(first) == 16 - len(kept)


def test_a_killed_worker_is_replaced_until_it_happens_again_and_again(version: SuiteVersion) -> None:
    evaluation = at_endpoint(version, "http://127.0.0.1:9/v1")
    holder = lease.this_holder().split(" ")
    holder[2] = "1"  # a process with this pid that started at another time
    found = []
    for number in range(3):
        process = {"cookie": f"lost-{number}", "holder": " ".join(holder)}
        SuiteEvaluation.objects.update(state=JobState.RUNNING, started_at=timezone.now(), process=process)
        HeldSuiteEvaluation.fail_abandoned()
        evaluation.refresh_from_db()
        found.append((evaluation.state, evaluation.losses))
    assert found == [("queued", 1), ("queued", 2), ("failed", 3)]
    assert evaluation.message.endswith("That happened 3 times in a row, without a new episode. Resume it.")
    services.resume(evaluation)
    evaluation.refresh_from_db()
    assert (evaluation.state, evaluation.losses) == ("queued", 0)
    SuiteEvaluation.objects.update(state=JobState.RUNNING, process=process, stop_requested=True)
    HeldSuiteEvaluation.fail_abandoned()
    evaluation.refresh_from_db()
    assert evaluation.state == "stopped"


def test_an_evaluation_whose_stored_outcomes_are_damaged_fails_and_keeps_no_other_job_waiting(
    version: SuiteVersion,
) -> None:
    evaluation = at_endpoint(version, "http://127.0.0.1:9/v1")
    damaged = evaluation.folder / PARTS / "1.parquet"
    damaged.parent.mkdir(parents=True)
    damaged.write_bytes(b"half a file")
    holder = lease.this_holder().split(" ")
    holder[2] = "1"
    process = {"cookie": "lost", "holder": " ".join(holder)}
    SuiteEvaluation.objects.update(state=JobState.RUNNING, started_at=timezone.now(), process=process)
    HeldSuiteEvaluation.fail_abandoned()
    evaluation.refresh_from_db()
    assert evaluation.state == "failed"
    assert f"Its outcomes in {evaluation.folder} cannot be read" in evaluation.message
    assert evaluation.message.endswith("Remove the damaged file, and resume it.")


def test_a_worker_that_was_taken_for_dead_ends_nothing_that_another_one_plays(version: SuiteVersion) -> None:
    evaluation = at_endpoint(version, "http://127.0.0.1:9/v1")
    slow = HeldSuiteEvaluation._take(evaluation.pk)
    assert slow is not None
    SuiteEvaluation.objects.update(process={"cookie": "of the next one", "holder": lease.this_holder()})
    slow._end(slow.failed("Its engine ended."))
    evaluation.refresh_from_db()
    assert (evaluation.state, evaluation.message) == ("running", "")


def test_the_error_of_an_engine_is_the_message_and_a_removed_model_fails(
    version: SuiteVersion, tmp_path: Path, settings: Settings
) -> None:
    folder = tmp_path / "models" / "gone"
    folder.mkdir(parents=True)
    (folder / "config.json").write_text("{}")
    fields = {"policy": "directory", "model": str(folder), "weights": ""}
    evaluation = services.create(version, fields, owner=None)
    shutil.rmtree(folder)
    play(evaluation)
    assert evaluation.state == JobState.FAILED
    assert evaluation.message.startswith(f"The model directory {folder} does not exist.")
    settings.STARBOARD_ENGINE_COMMAND = ["/bin/sh", "-c", "echo 'error: no room' >&2; exit 1", "engine"]
    evaluation = play(at_endpoint(version, "http://127.0.0.1:9/v1"))
    assert (evaluation.state, evaluation.message) == ("failed", "no room")


def test_a_large_model_is_identified_by_the_worker_and_not_evaluated_twice(version: SuiteVersion) -> None:
    done = services.create(version, {"policy": "directory", "model": "tiny", "weights": ""}, owner=None)
    held = HeldSuiteEvaluation(done)
    held._identify()
    done.refresh_from_db()
    SuiteEvaluation.objects.filter(pk=done.pk).update(state=JobState.FINISHED)
    assert len(done.weights) == 64
    second = play(services.create(version, {"policy": "directory", "model": "tiny", "weights": ""}, owner=None))
    assert second.state == JobState.FAILED
    assert f"evaluation {done.pk}" in second.message


def queued(version: SuiteVersion, policy: str, number: int) -> SuiteEvaluation:
    endpoint = "http://127.0.0.1:9/v1" if policy == "endpoint" else ""
    fields = {"policy": policy, "model": f"model {number}", "endpoint": endpoint, "weights": f"{number:064x}"}
    return services.create(version, fields, owner=None)


def taken(*evaluations: SuiteEvaluation) -> list[bool]:
    return [HeldSuiteEvaluation._take(one.pk) is not None for one in evaluations]


def test_endpoints_keep_no_local_model_waiting_and_each_has_its_own_limit(
    version: SuiteVersion, settings: Settings
) -> None:
    settings.STARBOARD_MAX_PARALLEL_EVALUATIONS, settings.STARBOARD_MAX_PARALLEL_ENDPOINTS = 1, 2
    endpoints = [queued(version, "endpoint", number) for number in range(3)]
    local = [queued(version, "directory", number) for number in range(3, 5)]
    assert taken(*endpoints) == [True, True, False]
    assert taken(*local) == [True, False]
    settings.STARBOARD_MAX_PARALLEL_EVALUATIONS = 2
    assert taken(local[1], endpoints[2]) == [True, False]
    SuiteEvaluation.objects.filter(pk=endpoints[0].pk).update(state=JobState.FINISHED)
    assert taken(endpoints[2]) == [True]


def test_as_many_are_sent_to_workers_as_there_is_room_for(
    version: SuiteVersion, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.STARBOARD_MAX_PARALLEL_EVALUATIONS, settings.STARBOARD_MAX_PARALLEL_ENDPOINTS = 2, 1
    local = [queued(version, "directory", number) for number in range(3)]
    endpoint = queued(version, "endpoint", 4)
    sent: list[int] = []
    monkeypatch.setattr(SuiteEvaluation, "enqueue", lambda one: sent.append(one.pk))
    HeldSuiteEvaluation.dispatch_next()
    assert sent == [local[0].pk, local[1].pk, endpoint.pk]
