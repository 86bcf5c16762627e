"""The health of a run as its rows have it. Judged once for each change of the run, however many pages look on."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import asdict, dataclass
from typing import Any

from django.db.models.fields.json import KeyTransform

from engine.events import RunStarted, kind_of
from webapp.audit.services import settings_authors
from webapp.run_pages.health import ALERT_STEPS, JUDGED_BY, RECENT, Course, HeldOut, Metrics, best_means, health_of
from webapp.run_pages.usage import usage
from webapp.runs.models import Run

NEWEST = 2 * RECENT
KEPT = 256  # runs of this process


@dataclass(frozen=True, slots=True, kw_only=True)
class Past:
    """What was read of a run's steps up to `step`: a start of its engine may take steps back, so it is counted."""

    starts: int
    step: int
    first: list[Metrics]
    best: Metrics


_judged: OrderedDict[str, tuple[object, dict[str, Any]]] = OrderedDict()
_pasts: OrderedDict[str, Past] = OrderedDict()


def run_snapshot(run: Run) -> dict[str, Any]:
    """What a run's page is told whenever it changes: the live state, its health, what it used, and what was asked.

    `asked` counts the entries of its record, refused ones too; `settings_by` says who asked for which settings.
    """
    asked = {"asked": run.audit.count(), "settings_by": settings_authors(run) if run.settings_revision else {}}
    return {**run.live_state(), "health": health(run), "usage": usage(run), **asked}


def health(run: Run) -> dict[str, Any]:
    """`key`, `word`, `sentence`, `icon`, and `numbers` as a list of texts for each metric."""
    mark = (run.last_seq, run.attempt, run.shown_as, run.state_reason, run.wait_reason, run.alerts.count())
    known = _judged.get(run.pk)
    if known is not None and known[0] == mark:
        return known[1]
    judged = health_of(
        run.shown_as,
        course(run),
        open_severities(run),
        held_out=held_out(run),
        reason=run.state_reason,
        waits_for=run.wait_reason,
    )
    told = {**asdict(judged), "icon": judged.icon, "numbers": [number._asdict() for number in judged.numbers]}
    _remember(_judged, run.pk, (mark, told))
    return told


def held_out(run: Run) -> list[HeldOut]:
    """Evaluations of the run's first environment, oldest first."""
    environments = run.config.get("environments") or [{"tag": ""}]
    found = run.evaluations.filter(environment=environments[0]["tag"]).order_by("step", "final")
    return [HeldOut(*row) for row in found.values_list("success", "low", "high")]


def open_severities(run: Run) -> list[str]:
    """Of the alerts in the newest steps, without those whose step a later attempt took again."""
    since = {"step__gt": run.step - ALERT_STEPS}
    attempts = dict(run.steps.filter(**since).values_list("step", "attempt"))
    alerts = run.alerts.filter(**since).values_list("severity", "step", "attempt")
    return [severity for severity, step, attempt in alerts if attempts.get(step) == attempt]


def course(run: Run) -> Course:
    """The start and the best of the whole run beside its newest steps; older steps are read once in a process."""
    starts = run.events.filter(kind=kind_of(RunStarted)).count()
    past = _pasts.get(run.pk)
    if past is None or past.starts != starts:
        past = Past(starts=starts, step=0, first=[], best={})
    picked = (KeyTransform(name, "metrics") for name in JUDGED_BY)  # a step may have a thousand metrics
    rows = list(run.steps.filter(step__gt=past.step - NEWEST).order_by("step").values_list("step", *picked))
    steps = [_without_gaps(values) for _, *values in rows]
    first = past.first or steps[:RECENT]
    best = past.best | {name: max(mean, past.best.get(name, mean)) for name, mean in best_means(steps).items()}
    if rows and len(first) == RECENT:  # of fewer, no mean of ten is known
        _remember(_pasts, run.pk, Past(starts=starts, step=rows[-1][0], first=first, best=best))
    return Course(first=first, newest=steps[-NEWEST:], best=best)


def _without_gaps(values: list[float | None]) -> Metrics:
    return {name: value for name, value in zip(JUDGED_BY, values, strict=True) if value is not None}


def _remember(cache: OrderedDict[str, Any], key: str, value: object) -> None:
    cache[key] = value
    while len(cache) > KEPT:
        cache.popitem(last=False)
