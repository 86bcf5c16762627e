"""The health of a run as its rows have it. Judged once for each change of the run, however many pages look on."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import asdict
from typing import Any

from django.db.models.fields.json import KeyTransform

from webapp.audit.services import askers
from webapp.runs.health import HeldOut, health_of
from webapp.runs.models import Run
from webapp.runs.usage import usage

HEALTH_STEPS = 400
JUDGED_BY = ("rollout/success", "reward/in_group_std", "rollout/parse_ok_rate")
KEPT = 256  # runs of this process

_judged: OrderedDict[str, tuple[object, dict[str, Any]]] = OrderedDict()


def told_state(run: Run) -> dict[str, Any]:
    """What a run's page is told whenever it changes: the live state, its health, what it used, and what was asked.

    `asked` counts the entries of its record, refused ones too; `settings_by` says who asked for which settings.
    """
    asked = {"asked": run.audit.count(), "settings_by": askers(run) if run.settings_revision else {}}
    return {**run.live_state(), "health": health(run), "usage": usage(run), **asked}


def health(run: Run) -> dict[str, Any]:
    """`key`, `word`, `sentence`, `icon`, and `numbers` as a list of texts for each metric."""
    mark = (run.last_seq, run.attempt, run.shown_as, run.state_reason, run.wait_reason, run.alerts.count())
    known = _judged.get(run.pk)
    if known is not None and known[0] == mark:
        return known[1]
    judged = health_of(
        run.shown_as,
        recent_steps(run),
        list(run.alerts.values_list("severity", flat=True)[:5]),
        held_out=held_out(run),
        reason=run.state_reason,
        waits_for=run.wait_reason,
    )
    told = {**asdict(judged), "icon": judged.icon, "numbers": [number._asdict() for number in judged.numbers]}
    _judged[run.pk] = (mark, told)
    while len(_judged) > KEPT:
        _judged.popitem(last=False)
    return told


def held_out(run: Run) -> list[HeldOut]:
    """Evaluations of the run's first environment, oldest first."""
    environments = run.config.get("environments") or [{"tag": ""}]
    found = run.evaluations.filter(environment=environments[0]["tag"]).order_by("step", "final")
    return [HeldOut(*row) for row in found.values_list("success", "low", "high")]


def recent_steps(run: Run) -> list[dict[str, float]]:
    """What the newest steps are judged by, oldest first. The database picks it: a step may have a thousand metrics."""
    picked = run.steps.order_by("-step").values_list(*(KeyTransform(name, "metrics") for name in JUDGED_BY))
    rows = list(picked[:HEALTH_STEPS])[::-1]
    return [{name: value for name, value in zip(JUDGED_BY, row, strict=True) if value is not None} for row in rows]
