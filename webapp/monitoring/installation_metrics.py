"""Metrics of the whole installation, read from the database and Redis when they are asked for.

Every process of the site gives the same values, so that it does not matter which of them is asked.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from django.apps import apps
from django.db.models import Count, Q
from django.db.models.functions import Now
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

from webapp.jobs import LIVE, Job
from webapp.monitoring.presence import WORKER, present, redis_client
from webapp.runs.models import Run
from webapp.runs.states import SUPERVISED, RunState
from workers.app import EVALUATIONS, SUPERVISION, app


def from_database() -> list[Metric]:
    return [_runs(), _unsupervised(), _jobs()]


def from_redis() -> list[Metric]:
    return [_tasks(), *_workers()]


def reachable(parts: dict[str, bool]) -> Metric:
    found = GaugeMetricFamily(
        "starboard_reachable",
        "1 if the server answered; its metrics are missing otherwise.",
        labels=["server"],
    )
    for name, answered in parts.items():
        found.add_metric([name], int(answered))
    return found


def _runs() -> Metric:
    counts = dict(Run.objects.order_by().values_list("state").annotate(Count("pk")))
    found = GaugeMetricFamily("starboard_runs", "Runs by state.", labels=["state"])
    for state in RunState.values:
        found.add_metric([state], counts.get(state, 0))
    return found


def _unsupervised() -> Metric:
    free = Q(lease_expires=None) | Q(lease_expires__lt=Now())
    count = Run.objects.filter(free, state__in=SUPERVISED).count()
    return GaugeMetricFamily("starboard_runs_unsupervised", "Live runs that no worker supervises.", value=count)


def _jobs() -> Metric:
    """What-ifs, pre-flights, evaluations and imports."""
    found = GaugeMetricFamily("starboard_jobs", "Jobs that wait, or that a worker has.", labels=["kind", "state"])
    for model in _kinds():
        counts = dict(model.objects.order_by().values_list("state").annotate(Count("pk")))  # type: ignore[attr-defined]
        for state in LIVE:
            found.add_metric([model.__name__.lower(), state], counts.get(state, 0))
    return found


def _kinds() -> Iterator[type[Job]]:
    return (model for model in apps.get_models() if issubclass(model, Job))


def _tasks() -> Metric:
    prefix = app.conf.broker_transport_options["global_keyprefix"]
    found = GaugeMetricFamily("starboard_queue_tasks", "Tasks that no worker has taken, by queue.", labels=["queue"])
    for queue in (SUPERVISION, EVALUATIONS):
        found.add_metric([queue], redis_client().llen(f"{prefix}{queue}"))
    return found


def _workers() -> Iterable[Metric]:
    workers = present(WORKER)
    names = ["worker"]
    up = GaugeMetricFamily("starboard_worker_up", "1 for each worker heard of within 20 seconds.", labels=names)
    held = GaugeMetricFamily("starboard_worker_supervised_runs", "Runs that the worker supervises.", labels=names)
    events = CounterMetricFamily("starboard_worker_events", "Events that the worker has stored.", labels=names)
    behind = GaugeMetricFamily(
        "starboard_ingestion_lag_events",
        "Events that engines recorded and the worker has not stored.",
        labels=names,
    )
    lag = GaugeMetricFamily(
        "starboard_ingestion_lag_seconds", "How long the worker has not stored what an engine recorded.", labels=names
    )
    for worker in workers:
        labels = [str(worker["name"])]
        up.add_metric(labels, 1)
        held.add_metric(labels, worker["supervised_runs"])
        events.add_metric(labels, worker["events_stored"])
        behind.add_metric(labels, worker["lag_events"])
        lag.add_metric(labels, worker["lag_seconds"])
    return [up, held, events, behind, lag]
