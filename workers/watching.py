"""Alert rules over what a run from elsewhere reports: each step once, when a later one has begun or the run has ended.

The alerts are appended to the run's events, as an engine would have written them. All that rules read are rows, so that
they are the same however the lines arrived.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterator

from django.db import transaction

from engine.config import StopConfig
from engine.diagnostics.alerts import Detection, Metrics
from engine.diagnostics.detectors import Detectors, build_detectors
from engine.diagnostics.held_out import HeldOutResult, held_out_metrics
from engine.events import AlertRaised, EvaluationCompleted
from webapp.runs.ingesting import append
from webapp.runs.models import Ingestion, Run
from webapp.runs.recorded_events import events_of


def watch(run: Run) -> int:
    """Reads the steps that have ended since the last call; returns how many alerts they raised."""
    with transaction.atomic():
        ingestion = Ingestion.objects.select_for_update().select_related("run").get(run=run)
        last = _last_ended(ingestion)
        if last <= ingestion.watched_step:
            return 0
        detectors = build_detectors(StopConfig(), run.parsed_config().detectors)
        detectors.load_state_dict(ingestion.detectors)
        alerts = list(_alerts(run, detectors, ingestion.watched_step, last))
        append(ingestion, alerts)
        ingestion.watched_step, ingestion.detectors = last, detectors.state_dict()
        ingestion.save()
    return len(alerts)


def _last_ended(ingestion: Ingestion) -> int:
    """The newest step in the rows that takes no more metrics; -1 if there is none."""
    steps = ingestion.run.steps.order_by("-step").values_list("step", flat=True)
    if not ingestion.run.is_terminal:
        steps = steps.filter(step__lt=ingestion.step)
    return next(iter(steps[:1]), -1)


def _alerts(run: Run, detectors: Detectors, after: int, last: int) -> Iterator[AlertRaised]:
    """Of the steps after `after` up to `last`; an evaluation is read after its step."""
    evaluations = _evaluations(run, after, last)
    rows = run.steps.filter(step__gt=after, step__lte=last).order_by("step")
    readings: list[tuple[int, int, Metrics]] = [
        (step, 0, metrics) for step, metrics in rows.values_list("step", "metrics")
    ]
    readings += [(step, 1, metrics) for step, metrics in evaluations.items()]
    for step, is_evaluation, metrics in sorted(readings, key=lambda one: one[:2]):
        found = detectors.observe_evaluation(step, metrics) if is_evaluation else detectors.observe(step, metrics)
        yield from _events(found, step)


def _events(found: Detection, step: int) -> Iterator[AlertRaised]:
    for draft in found.alerts:
        yield draft.event(step).model_copy(update={"time": time.time(), "action": "notify"})


def _evaluations(run: Run, after: int, last: int) -> dict[int, Metrics]:
    found: dict[int, dict[str, HeldOutResult]] = defaultdict(dict)
    for event in events_of(run, EvaluationCompleted, step__gt=after, step__lte=last):
        found[event.step][event.environment] = event
    return {step: held_out_metrics(of.values()) for step, of in found.items()}
