"""Write access to the broker must not allow running code in a worker."""

from __future__ import annotations

import base64
import json
import pickle
from pathlib import Path

import pytest
import redis
from kombu import Connection

from tests.workers.workplace import Workplace, wait_for
from webapp.runs.models import Run
from webapp.runs.states import RunState
from workers.app import SUPERVISE, app, broker_url

pytestmark = pytest.mark.slow


class Payload:
    """Unpickling it would create a file."""

    def __init__(self, file: Path) -> None:
        self.file = file

    def __reduce__(self) -> tuple[object, tuple[object, ...]]:
        return (Path.touch, (self.file,))


def send(workplace: Workplace, body: bytes, content_type: str, encoding: str) -> None:
    """A forged message, as an attacker with the broker's address could send it."""
    options = app.conf.broker_transport_options
    with Connection(broker_url(workplace.redis_url), transport_options=options) as connection:
        producer = connection.Producer()
        producer.publish(
            body,
            routing_key=app.conf.task_default_queue,
            exchange="",
            content_type=content_type,
            content_encoding=encoding,
            headers={"task": SUPERVISE, "id": "by-hand", "lang": "py"},
        )


def test_a_pickled_message_is_refused_without_loading_and_the_worker_continues(
    workplace: Workplace, tmp_path: Path
) -> None:
    bait = tmp_path / "it-ran"
    assert not bait.exists()
    send(workplace, pickle.dumps(Payload(bait)), "application/x-python-serialize", "binary")
    send(workplace, b"{not json", "application/json", "utf-8")
    worker = workplace.start_worker()
    run = workplace.submit()
    wait_for(lambda: Run.objects.get(pk=run.pk).state == RunState.FINISHED, what="the run after the bad messages")
    assert not bait.exists()
    assert worker.poll() is None


def test_the_malicious_pickle_works_when_loaded(tmp_path: Path) -> None:
    pickle.loads(pickle.dumps(Payload(tmp_path / "it-ran")))
    assert (tmp_path / "it-ran").exists()


def test_the_queue_holds_no_secret_and_no_configuration(workplace: Workplace) -> None:
    """Tasks carry only the ids of runs: everything else is in rows."""
    run = workplace.submit(name="a name that is nobody's business")
    server = redis.Redis.from_url(workplace.redis_url)
    held = [json.loads(message) for message in server.lrange("starboard.supervision", 0, -1)]
    bodies = [base64.b64decode(message["body"]).decode() for message in held]
    assert [json.loads(body)[0] for body in bodies] == [[run.pk]]
    assert "business" not in str(held) + str(bodies)
