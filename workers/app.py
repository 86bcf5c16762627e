"""The Celery application object and its settings. It names tasks and imports none, so web processes may import it."""

from __future__ import annotations

import os
import time
from datetime import UTC, datetime, timedelta
from urllib.parse import parse_qs, urlsplit

from celery import Celery
from celery.schedules import schedule
from django.conf import settings
from kombu import Exchange, Queue

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "webapp.settings")
# a worker would import every page and the whole REST API, and ignore what Django's checks say
os.environ.setdefault("CELERY_SKIP_CHECKS", "1")

SUPERVISE = "workers.supervise_run"
ADOPT = "workers.adopt_unsupervised_runs"
INDEX = "workers.index_run"
WHAT_IF = "workers.what_if"
CALL = "workers.call_environment"
MEASURE = "workers.measure_environments"
INSPECT = "workers.inspect_model"
PREFLIGHT = "workers.preflight"
EVALUATE = "workers.evaluate_checkpoint"
EVALUATE_SUITE = "workers.evaluate_suite"
IMPORT = "workers.import_rollouts"
COPY_RUNS = "workers.copy_runs"
HOUSEKEEP = "workers.housekeep"
DELIVER = "workers.deliver"
SEND_RESET_LINK = "workers.send_reset_link"
SUPERVISION, EVALUATIONS = "supervision", "evaluations"  # queues
ADOPT_SECONDS = 5.0
HOUSEKEEP_SECONDS = 60.0
COPY_SECONDS = 60.0
DELIVER_SECONDS = 10.0
MEASURE_SECONDS = 30.0
# for adoption, housekeep, copies of runs, deliver, a what-if, a pre-flight, an evaluation of a checkpoint, an import,
# facts of environments, two calls that pages wait for, and short tasks: runs that check for a slot, indexing, mail
SPARE_THREADS = 12
# that play something for long: runs, evaluations on suites, and those of endpoints
PLAYING_THREADS = sum(
    int(getattr(settings, f"STARBOARD_MAX_PARALLEL_{name}", 1)) for name in ("RUNS", "EVALUATIONS", "ENDPOINTS")
)


def broker_url(redis_url: str) -> str:
    """A Redis address as kombu writes it: `unix:///run/redis.sock?db=1` is `redis+socket:///…?virtual_host=1`."""
    parts = urlsplit(redis_url)
    if parts.scheme != "unix":
        return redis_url
    database = parse_qs(parts.query).get("db", ["0"])[0]
    return f"redis+socket://{parts.path}?virtual_host={database}"


_BEGAN = datetime.now(UTC), time.monotonic()


def steady_now() -> datetime:
    """The time by a clock that never jumps, so that periodic tasks do not stop for a day that the wall clock is set
    back."""
    wall, monotonic = _BEGAN
    return wall + timedelta(seconds=time.monotonic() - monotonic)


def every(seconds: float) -> schedule:
    return schedule(timedelta(seconds=seconds), nowfun=steady_now)


app = Celery("starboard", include=["workers.tasks", "workers.deliveries", "workers.clock", "workers.presence"])
app.conf.update(
    broker_url=broker_url(settings.REDIS_URL),
    broker_connection_retry_on_startup=True,
    broker_connection_max_retries=None,
    broker_transport_options={
        "global_keyprefix": "starboard.",
        "socket_connect_timeout": 2,
        "socket_timeout": 10,
        # a launch does not wait for a broker: it tries twice, and otherwise leaves the run to `adopt_unsupervised_runs`
        "max_retries": 1,
        "interval_start": 0,
        "interval_step": 0,
    },
    # A worker takes tasks of both queues, unless it is started for one: `python -m workers -Q evaluations`.
    task_default_queue=SUPERVISION,
    task_queues=[Queue(name, Exchange(name), routing_key=name) for name in (SUPERVISION, EVALUATIONS)],
    task_routes={EVALUATE_SUITE: {"queue": EVALUATIONS}},
    # JSON only: whoever can write to the broker must not be able to run code here.
    accept_content=["json"],
    task_serializer="json",
    result_serializer="json",
    result_backend=None,
    task_ignore_result=True,
    # Early acknowledgement: Redis would hand an unacknowledged task out again after an hour, and runs last days.
    # A lost task costs nothing: leases in the rows say which runs are supervised, and `adopt_unsupervised_runs` reads
    # them.
    task_acks_late=False,
    worker_prefetch_multiplier=1,
    worker_cancel_long_running_tasks_on_connection_loss=False,
    # Threads: supervision waits for files and rows, and a live run occupies one thread.
    worker_pool="threads",
    worker_concurrency=PLAYING_THREADS + SPARE_THREADS,
    worker_hijack_root_logger=False,
    worker_send_task_events=False,
    beat_scheduler="celery.beat:Scheduler",  # keeps no file: every entry is due at start anyway
    beat_schedule={
        "adopt_unsupervised_runs": {
            "task": ADOPT,
            "schedule": every(ADOPT_SECONDS),
            "options": {"expires": 2 * ADOPT_SECONDS},
        },
        "deliver": {"task": DELIVER, "schedule": every(DELIVER_SECONDS), "options": {"expires": DELIVER_SECONDS}},
        "measure_environments": {
            "task": MEASURE,
            "schedule": every(MEASURE_SECONDS),
            "options": {"expires": MEASURE_SECONDS},
        },
        "copy_runs": {
            "task": COPY_RUNS,
            "schedule": every(COPY_SECONDS),
            "options": {"expires": COPY_SECONDS},
        },
        "housekeep": {
            "task": HOUSEKEEP,
            "schedule": every(HOUSEKEEP_SECONDS),
            "options": {"expires": HOUSEKEEP_SECONDS},
        },
    },
    timezone="UTC",
)
